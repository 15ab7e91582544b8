/** A request that the protocol answers with an error instead of a result. */
export class ClientFault extends Error {
  override readonly name = 'ClientFault'
  readonly code: number
  /** What the protocol wants told beside the code. */
  readonly data: unknown

  constructor(code: keyof typeof CODES, message: string, data?: unknown) {
    super(message)
    this.code = CODES[code]
    this.data = data
  }
}

const CODES = { InvalidRequest: -32600, InvalidParams: -32602, UnsupportedVersion: -32022, ServerBusy: -32000 } as const
