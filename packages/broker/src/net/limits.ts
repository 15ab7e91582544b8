/** What the traffic of one compartment may use. */
export interface NetLimits {
  /** Fetches under way and bodies not read to their end, in one call. → ResourceBusy */
  readonly requestsPerCall: number
  /** The same over all calls of the compartment. → ResourceBusy */
  readonly requestsAtOnce: number
  /** Names being looked up; they outlive a cancelled call because a lookup cannot be stopped. → ResourceBusy */
  readonly lookupsAtOnce: number
  /** Redirects followed by one fetch. → ToolExecutionFailed */
  readonly redirects: number
  /** From looking a name up to a connection that may be used, in ms. → ToolExecutionFailed */
  readonly connectMs: number
  /** From the fetch to the headers of its last response, redirects included, in ms. → ToolExecutionFailed */
  readonly headersMs: number
  /** Responses of a host before the one that counts. → ToolExecutionFailed */
  readonly interimResponses: number
  /** How long a reader waits for the next bytes of a body, in ms. → ToolExecutionFailed */
  readonly idleMs: number
  /** Body of a request, in bytes. → InputInvalid */
  readonly requestBytes: number
  /** Body of a response, in bytes, counted as it came and again as it is handed on. → OutputTooLarge */
  readonly bodyBytes: number
  /** How many bytes one compressed byte may become, once a body is larger than `unpackedFloor`. → OutputTooLarge */
  readonly unpackedRatio: number
  readonly unpackedFloor: number
  /**
   * Memory for decoders of compressed bodies that are being read, in bytes. A reader waits for a free share, for as long as it waits for
   * the next bytes of a body. → ResourceBusy
   */
  readonly decoderBytes: number
  /** One piece of a body on its way to the tool, in bytes. */
  readonly chunkBytes: number
  /** Headers of a response, in bytes and by number. → ToolExecutionFailed */
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
