package bulkwire;

/** One thing that the client and the server prove together. */
record Check(String name, Work work) {
    /** What a check does; an exception is its failure. */
    interface Work {
        void run(Environment environment) throws Exception;
    }
}
