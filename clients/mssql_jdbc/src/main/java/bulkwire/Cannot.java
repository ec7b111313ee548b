package bulkwire;

/** The outcome of what this client does not offer; the message says why. */
final class Cannot extends Exception {
    private static final long serialVersionUID = 1L;

    Cannot(String reason) {
        super(reason);
    }
}
