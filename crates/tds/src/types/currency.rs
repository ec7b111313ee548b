//! The currency signs of money constants and texts.

/// The signs that Transact-SQL accepts before an amount ("Constants", monetary).
pub const CURRENCY_SIGNS: &[char] = &[
    '$', '¢', '£', '¤', '¥', '৲', '৳', '฿', '៛', '₠', '₡', '₢', '₣', '₤', '₥', '₦', '₧', '₨', '₩', '₪', '₫',
    '€', '₭', '₮', '₯', '₰', '₱', '﷼', '﹩', '$', '¢', '£', '¥', '₩',
];
