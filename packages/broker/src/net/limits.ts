/** Limits of the traffic of one compartment. */
export interface NetLimits {
  /** Fetches and unread bodies of one call. → ResourceBusy */
  readonly requestsPerCall: number
  /** The same for all calls of the compartment. → ResourceBusy */
  readonly requestsAtOnce: number
  /** DNS lookups. They outlive a cancelled call, because a lookup cannot be cancelled. → ResourceBusy */
  readonly lookupsAtOnce: number
  /** Redirects followed by one fetch. → ToolExecutionFailed */
  readonly redirects: number
  /** From the DNS lookup to a usable connection, in ms. → ToolExecutionFailed */
  readonly connectMs: number
  /** From the fetch to the headers of the final response, with redirects, in ms. → ToolExecutionFailed */
  readonly headersMs: number
  /** Interim (1xx) responses. → ToolExecutionFailed */
  readonly interimResponses: number
  /** How long a read waits for the next bytes of a body, in ms. → ToolExecutionFailed */
  readonly idleMs: number
  /** Body of a request, in bytes. → InputInvalid */
  readonly requestBytes: number
  /** Body of a response, in bytes, both compressed and decompressed. → OutputTooLarge */
  readonly bodyBytes: number
  /** Largest compression ratio, once a body is larger than `unpackedFloor`. → OutputTooLarge */
  readonly unpackedRatio: number
  readonly unpackedFloor: number
  /**
   * Memory for decoders of compressed bodies, in bytes. A read waits for free memory as long as for the next bytes of a
   * body. → ResourceBusy
   */
  readonly decoderBytes: number
  /** Largest chunk of a body that is passed to the tool, in bytes. */
  readonly chunkBytes: number
  /** Size and number of response headers. → ToolExecutionFailed */
  readonly headerBytes: number
  readonly headerCount: number
}

export const NET_LIMITS: NetLimits = {
  requestsPerCall: 16,
  requestsAtOnce: 32,
  lookupsAtOnce: 32,
  redirects: 5,
  connectMs: 10_000,
  headersMs: 30_000,
  interimResponses: 32,
  idleMs: 30_000,
  requestBytes: 8 * 1024 * 1024,
  bodyBytes: 32 * 1024 * 1024,
  unpackedRatio: 200,
  unpackedFloor: 1024 * 1024,
  decoderBytes: 64 * 1024 * 1024,
  chunkBytes: 64 * 1024,
  headerBytes: 32 * 1024,
  headerCount: 256,
}
