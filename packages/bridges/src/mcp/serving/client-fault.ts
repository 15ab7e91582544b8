/** A request that the protocol answers with an error instead of a result. */
export class ClientFault extends Error {
  override readonly name = 'ClientFault'
  readonly code: number

  constructor(code: keyof typeof CODES, message: string) {
    super(message)
    this.code = CODES[code]
  }
}

const CODES = { InvalidRequest: -32600, InvalidParams: -32602, ServerBusy: -32000 } as const
