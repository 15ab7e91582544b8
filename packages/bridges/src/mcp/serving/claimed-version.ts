import type { JSONRPCRequest } from '@modelcontextprotocol/server'
import { ClientFault } from './client-fault.ts'

const VERSION = 'io.modelcontextprotocol/protocolVersion'

/**
 * What is wrong with the version that a request of the modern era says it is of. `spoken` is the one that the connection began
 * with: the SDK looks at what a request claims only until then.
 */
export function versionFault({ params }: JSONRPCRequest, spoken: string | undefined): ClientFault | undefined {
  const { _meta: meta } = params ?? {}
  const requested = meta?.[VERSION]
  if (spoken === undefined || typeof requested !== 'string' || requested === spoken) return undefined
  return new ClientFault('UnsupportedVersion', `This connection speaks ${spoken} of the protocol.`, { supported: [spoken], requested })
}
