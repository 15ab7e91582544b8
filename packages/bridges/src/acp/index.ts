import type { ClientCapabilities } from '@agentclientprotocol/sdk'
import type { Interactor, WorkspaceClient } from '@bulkhead/contract'
import { acpInteractor } from './interactor.ts'
import { CallUpdates, type AcpClient, type FollowedHost, type FollowedSession } from './updates.ts'
import { acpWorkspace } from './workspace-client.ts'

export { toolKind, toToolCall, toToolContent, type ShownCall } from './tool-call.ts'
export type { AcpClient, FollowedHost, FollowedSession } from './updates.ts'

export interface AcpOptions {
  /** The client, as the SDK passes it to handlers of the agent. */
  readonly client: AcpClient
  /** The session of the protocol: what `session/new` returned. */
  readonly sessionId: string
  /** The absolute path of the workspace. */
  readonly cwd: string
  /** What the client sent with `initialize`. Default: none. */
  readonly capabilities?: ClientCapabilities | undefined
  /** The name of the client, for the list of approvals. */
  readonly clientName?: string | undefined
  /** Called for messages that could not be sent. */
  readonly onFault?: (error: Error) => void
}

/** One session of a client. */
export interface AcpLink {
  /** The person at the client. Pass it to `openSession`. */
  readonly interactor: Interactor
  /** Its files and its terminal, as far as it has them. Pass it to `openSession` if tools may use them. */
  readonly client: WorkspaceClient
  /** Reports the calls of a session to the client, until the returned function is called. */
  follow(host: FollowedHost, session: FollowedSession): () => void
}

/**
 * Connects sessions of a host to a session of an ACP client: its person, its files and terminal, and the display of
 * calls.
 */
export function connectAcp(options: AcpOptions): AcpLink {
  const { client, sessionId, cwd, capabilities = {}, clientName = 'the ACP client' } = options
  const { onFault = () => undefined } = options
  const updates = new CallUpdates({ client, sessionId, cwd, onFault })
  return {
    interactor: acpInteractor({ client, sessionId, capabilities, clientName, updates }),
    client: acpWorkspace({ client, sessionId, capabilities, updates }),
    follow: (host, session) => updates.follow(host, session),
  }
}
