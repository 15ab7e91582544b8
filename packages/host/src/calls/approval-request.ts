import { resolve } from 'node:path'
import {
  argumentsLeftOut, isHeldBack, powerItems, powerPhrases, type ApprovalRequest, type ConnectedServer,
  type OfferedAnswer, type OutcomeOrigin,
} from '@bulkhead/contract'
import { within } from '@bulkhead/kit/deadlines'
import { isJsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { ToolEntry } from '../extensions/registry/tool-entry.ts'
import { offersOf, type Offer } from '../policy/approvals/offers.ts'
import { readerOf } from '../policy/call-analysis.ts'
import type { Call, DecidedCall, HostContext, ValidatedCall } from '../policy/call.ts'
import type { CallAnalysis } from '../policy/model/checked-call.ts'
import { permitsIn } from '../policy/policies.ts'
import { newDemand } from '../policy/interaction/passkeys.ts'
import { demandsPasskey, type Verdict } from '../policy/model/verdict.ts'
import { approvalDiff } from './approval-diff.ts'
import { unrecordedCommands } from './unrecorded-commands.ts'

const SOURCES =
  { mcp: 'MCP server', openapi: 'OpenAPI document' } as const satisfies Record<ConnectedServer['kind'], string>

/** The chain of tools that make a call, as a person sees it: with `code_mode`, whose calls are the session's own. */
export const shownCallers = ({ parent, callers }: Call): readonly ToolEntry[] =>
  parent?.isProgram ? [parent.tool] : callers

/** Comes first: the declared powers do not confine a local process. */
const UNCONFINED = {
  true: 'do everything your account can: the server is a local process and is not confined',
  network: 'reach the whole network: the jail of the server confines its files only',
} as const

/** The one question of a call, and the answers that it offers. `whole` adds what takes time. */
export function questionOf({ call, decision: { asks, analysis } }: DecidedCall, host: HostContext) {
  const all = offersOf(call.tool, analysis, call.session.approvals.forProject, call.session.policy.lineage.length > 1)
  // A grant of a stage is for one call, and so is a passkey.
  const offers = permitsIn(asks).length > 0 || demandsPasskey(asks) ? all.slice(0, 1) : all
  const request = approvalRequest(call, analysis, asks, offers, host)
  return { offers, request, whole: () => wholeRequest(request, call, analysis, offers, host) }
}

/** Everything third-party is shown as visible text, so it can hide or overwrite nothing. */
export function approvalRequest(
  call: ValidatedCall, { approvalKey, touches, keyByTool }: CallAnalysis, asks: readonly Verdict[],
  offers: readonly Offer[], host: HostContext,
): ApprovalRequest {
  const { tool, args, session: { id: sessionId, principal, policy, agent } } = call
  const callers = shownCallers(call)
  const leavesOut = leftOut(call, host)
  const { definition, origin, extension: { descriptor: { server } } } = tool
  return {
    sessionId,
    callId: visibleText(call.id),
    ...(principal && { principal }),
    tool: definition.name,
    label: visibleText(definition.label),
    mode: definition.mode,
    kind: definition.kind,
    ...(agent && { agent: agent.name }),
    origin: server
      ? visibleText(`${serverWords(server, origin)}: ${whereTo(server, definition.name)}`)
      : extensionWords(origin),
    ...(callers.length > 0 && {
      calledBy: callers.map((caller) => `${caller.name} of the ${extensionWords(caller.origin)}`),
    }),
    approvalKey: visibleText(approvalKey),
    answers: offers.map((offer) => shownOffer(offer)),
    ...(leavesOut.length > 0 && { leavesOut }),
    ...(keyByTool && { keyByTool }),
    argumentsText: visibleText(JSON.stringify(args, null, 2), { keepLines: true }),
    touches: touches.map((line) => visibleText(line)),
    mayTouch: [
      ...(server?.unconfined ? [UNCONFINED[`${server.unconfined}`]] : []),
      ...powerPhrases(powerItems(policy.forTool(tool).power), 'may').map((text) => visibleText(text)),
    ],
    reasons: [
      ...(call.scope.reverts ? ['undo wants to revert an earlier call with these arguments'] : []),
      ...new Set(asks.map(({ reason }) => visibleText(reason))),
    ],
    ...(demandsPasskey(asks) && { passkey: newDemand(host.passkeys, host.clock.now()) }),
  }
}

const extensionWords = ({ layer, extension, version }: OutcomeOrigin): string =>
  `${layer} extension ${extension} ${version}`

const serverWords = ({ kind, name }: ConnectedServer, { layer }: OutcomeOrigin): string =>
  `${SOURCES[kind]} ${name} of the ${layer} configuration`

const whereTo = ({ actions, deeds, address }: ConnectedServer, tool: string): string =>
  (actions ?? deeds)?.get(tool) ?? address

/** With what takes time: the diff, what undo cannot put back, and how many files a folder has. Never rejects. */
async function wholeRequest(
  request: ApprovalRequest, call: ValidatedCall, analysis: CallAnalysis, offers: readonly Offer[], host: HostContext,
): Promise<ApprovalRequest> {
  const counts = new Map<string, Promise<string | undefined>>()
  const countOf = ({ counted }: Offer) =>
    counted === undefined ? undefined : counts.getOrInsertComputed(counted, () => fileCount(counted, call, host))
  const [diff, notRecorded, answers] = await Promise.all([
    approvalDiff(call, analysis, host), unrecordedCommands(call, analysis, host),
    Promise.all(offers.map(async (offer) => shownOffer(offer, await countOf(offer)))),
  ])
  return {
    ...request, answers, ...(diff !== undefined && { diff }),
    ...(notRecorded !== undefined && { notRecorded: visibleText(notRecorded) }),
  }
}

function shownOffer({ decision, covers, words, keys, narrower = [] }: Offer, files?: string): OfferedAnswer {
  // A key is chosen by its text: one that looks like another is not offered.
  const plain = narrower.map(({ key }) => key).filter((key) => visibleText(key) === key)
  return {
    decision, covers, words: visibleText(words(files)),
    ...(keys.length > 0 && { keys: keys.map(({ key }) => visibleText(key)) }),
    ...(plain.length > 0 && { narrower: plain }),
  }
}

/** The arguments of a key that is not the host's own. Code can leave out any, and a key that is the name leaves out all. */
function leftOut({ tool, args }: ValidatedCall, host: HostContext): readonly string[] {
  if (readerOf(tool, host)) return []
  const { properties } = tool.definition.inputSchema
  const names = new Set([...Object.keys(isJsonObject(properties) ? properties : {}), ...Object.keys(args)])
  // The model chooses names, too: one that is a sentence is quoted.
  const shown = [...names].map((name) => /^[\w.-]{1,64}$/.test(name) ? name : visibleText(JSON.stringify(name)))
  return argumentsLeftOut(shown, tool.approvalKey)
}

/** More are not counted. */
const MOST_FILES = 1_000
const COUNT_MS = 1_000

/** The files that an answer for a folder covers now, in words. undefined if they cannot be counted in time. */
async function fileCount(
  counted: string, { session: { paths: { workspace } } }: ValidatedCall, { countFiles, clock }: HostContext,
): Promise<string | undefined> {
  if (countFiles === undefined) return undefined
  try {
    const folder = resolve(workspace, decodeURIComponent(counted))
    const late = () => new Error('The files could not be counted in time.')
    const isCounted = (path: string) => !isHeldBack(path, folder)
    const files = await within({ clock, ms: COUNT_MS, late }, () => countFiles(folder, MOST_FILES, isCounted))
    if (files > MOST_FILES) return `more than ${MOST_FILES.toLocaleString('en')} files`
    return files === 1 ? '1 file' : `${files} files`
  } catch {
    return undefined
  }
}
