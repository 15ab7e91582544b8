import type { ApprovalRequest, ConnectedServer, OutcomeOrigin } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import type { ValidatedCall } from './call.ts'
import type { CallAnalysis } from './checked-call.ts'
import { describePower } from './describe-power.ts'
import type { Verdict } from './verdict.ts'

const SOURCES = { mcp: 'MCP server', openapi: 'OpenAPI document' } as const satisfies Record<ConnectedServer['kind'], string>

/** Comes first: the declared powers do not confine a local process. */
const UNCONFINED = 'do everything your account can: the server is a local process and is not confined'

/** The one question of a call. Everything third-party is shown as visible text, so it can hide or overwrite nothing. */
export function approvalRequest(
  call: ValidatedCall, { approvalKey, touches, keyByTool }: CallAnalysis, asks: readonly Verdict[],
): ApprovalRequest {
  const { tool, args, callers, session: { policy } } = call
  const { definition, origin, extension: { descriptor: { server } } } = tool
  return {
    callId: visibleText(call.id),
    tool: definition.name,
    label: visibleText(definition.label),
    origin: server
      ? visibleText(`${SOURCES[server.kind]} ${server.name} of the ${origin.layer} configuration: ${whereTo(server, definition.name)}`)
      : extensionWords(origin),
    ...(callers.length > 0 && { calledBy: callers.map((caller) => `${caller.name} of the ${extensionWords(caller.origin)}`) }),
    approvalKey: visibleText(approvalKey),
    ...(keyByTool && { keyByTool }),
    argumentsText: visibleText(JSON.stringify(args, null, 2), { keepLines: true }),
    touches: touches.map((line) => visibleText(line)),
    mayTouch: [...(server?.unconfined ? [UNCONFINED] : []), ...describePower(policy.standing(tool).power).map((line) => visibleText(line))],
    reasons: [...new Set(asks.map(({ reason }) => visibleText(reason)))],
  }
}

const extensionWords = ({ layer, extension, version }: OutcomeOrigin): string => `${layer} extension ${extension} ${version}`

const whereTo = ({ deeds, address }: ConnectedServer, tool: string): string => deeds?.get(tool) ?? address
