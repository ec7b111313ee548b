#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    bulkwire_fuzz::cases::formats::format_file_xml(data);
});
