//! Packets, and messages in them.

pub mod message_reader;
pub mod packet;
pub mod packet_framer;
