/** One JSON text; or a list of such a text and the long texts that were taken out of it. */
export type Packet = string | readonly string[]

/** What carries packets between the two sides. */
export interface Transport {
  send(packet: Packet): void
  /** Bytes given to `send` that have not left yet, as far as this side can know. */
  readonly queuedBytes: number
  /** Called once, before the first packet can arrive. */
  listen(receiver: TransportReceiver): void
  /** Idempotent; `closed` follows. */
  close(): void
}

export interface TransportReceiver {
  /** Not yet known to be a packet: a port carries whatever the other side posts. */
  packet(packet: unknown): void
  /** All that was sent has left, after some of it had to wait. */
  drained?(): void
  /** The first call counts. With an error when the bytes could not be read as packets, without when the other side is gone. */
  closed(error?: Error): void
}
