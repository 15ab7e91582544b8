import {
  Broker, isResourceShortage, powersOf, refuseUnenforceable, resourceShortage, type BrokerOptions,
} from '@bulkhead/broker'
import {
  BulkheadError, LIFECYCLE_PHASES, TOOL_NAME_PATTERN, type CompartmentCode, type CompartmentRequest,
  type CompartmentSession, type ErrorCode, type LifecyclePhase, type RuntimePart,
} from '@bulkhead/contract'
import { canonicalJson, isJsonObject, type Json } from '@bulkhead/kit/json'
import { loadImage } from '../process/image.ts'
import type { Pools } from '../pool/hull-pool.ts'
import type { LoadRequest } from '../wire/protocol.ts'
import { isNative } from '../wire/shim-table.ts'
import { AwakeDeadline } from './awake-deadline.ts'
import { loadFailure, reportFailure, type FailureListener } from './failures.ts'
import { namedShims } from './named-shims.ts'
import { inlinePeer, remotePeer, type Peer } from './peer.ts'
import { Residency } from './residency.ts'
import { Session } from './session.ts'

/** An opening can always be cancelled. */
export type OpenRequest = CompartmentRequest & { readonly signal: AbortSignal }

export interface OpenOptions extends BrokerOptions {
  readonly onFailure?: FailureListener | undefined
}

/** Opens a compartment and loads its code. Rejects with the reason and leaves nothing behind. */
export async function openCompartment(
  request: OpenRequest, residency: Residency, workspace: string, pools: Pools, options: OpenOptions,
): Promise<Session> {
  for (const tool of request.tools) refuseUnenforceable(tool, request.services)
  const broker = new Broker(request, workspace, options)
  const peer = await place(request, broker, pools).catch((error: unknown) => {
    // Cancelled while it waited for a place: the caller gets its own reason.
    if (request.signal.aborted) throw BulkheadError.from(request.signal.reason, 'ToolCancelled')
    throw BulkheadError.is(error) ? error : notStarted(request, error)
  })
  try {
    return await startSession(request, broker, peer, residency, options.onFailure)
  } finally {
    if (request.placement !== 'inline') pools[request.placement].refill(request.limits)
  }
}

/** Loads the code into a started peer, and checks what it offers. */
export async function startSession(
  request: CompartmentRequest, broker: Broker, peer: Peer, residency = new Residency(), onFailure?: FailureListener,
): Promise<Session> {
  const { limits, extension, signal } = request
  const stop = Promise.withResolvers<never>()
  stop.promise.catch(() => undefined)
  const abort = (): void => stop.reject(BulkheadError.from(signal?.reason, 'ToolCancelled'))
  const deadline = new AwakeDeadline(limits.startMs, () => {
    const why = `The code of ${extension.id} was not imported within ${limits.startMs} ms.`
    stop.reject(new BulkheadError('CompartmentStartTimeout', why, { data: { limit: 'startMs' } }))
  })
  signal?.addEventListener('abort', abort, { once: true })
  if (signal?.aborted === true) abort()
  const died = peer.ended.then((error): never => {
    throw error ?? new BulkheadError('CompartmentCrashed', 'The compartment ended before its code was imported.')
  })
  died.catch(() => undefined)
  let isReady = false
  void peer.ready.then((ready) => void (isReady = ready))
  try {
    const load = await loadRequest(request)
    const reply = await Promise.race([peer.load(load), died, stop.promise])
    return new Session({ request, peer, broker, offers: checkOffers(reply, request), residency, onFailure })
  } catch (error) {
    peer.kill()
    await peer.gone
    const reason = loadFailure(error, request)
    reportFailure(reason, request, undefined, onFailure)
    throw isReady || !WITHOUT_CODE.has(reason.code) ? reason : notStarted(request, reason)
  } finally {
    deadline.stop()
    signal?.removeEventListener('abort', abort)
  }
}

/** Errors of a hull that ended before it could load code. */
const WITHOUT_CODE: ReadonlySet<ErrorCode> = new Set(['CompartmentCrashed', 'CompartmentStartTimeout'])

/**
 * The hull did not start: Node refused, as it does in a host started with --permission and without the right to start
 * threads or processes; or the system is out of resources, which is no fault of the extension.
 */
function notStarted({ placement, extension }: CompartmentRequest, error: unknown): BulkheadError {
  const what = `No ${placement} could be started for ${extension.id}`
  const { code, message } = BulkheadError.from(error)
  if (WITHOUT_CODE.has(code) || isResourceShortage(error)) {
    return resourceShortage(what, message.replace(/\.$/, ''), error)
  }
  return new BulkheadError('CompartmentStartFailed', `${what}: ${message}`, { cause: error })
}

async function place(request: OpenRequest, broker: Broker, pools: Pools): Promise<Peer> {
  const { placement, code, limits, extension, signal } = request
  if (placement === 'inline') {
    if (code.kind !== 'module') {
      throw new BulkheadError(
        'CompartmentStartFailed',
        `${extension.id} is not a built-in module and cannot run in the host's own thread.`,
      )
    }
    return inlinePeer(code.module, broker, request)
  }
  if (code.kind !== 'files') {
    throw new BulkheadError('CompartmentStartFailed', `${extension.id} has no files to run in a ${placement}.`)
  }
  return remotePeer(await pools[placement].open(limits, signal), broker, limits)
}

/** Files that a compartment can import. The other files of a package are not sent. */
const CODE_FILE = /\.(?:m?js|json|wasm)$/

/** The first request to a compartment. */
async function loadRequest(
  { extension, code, config, tools, services, describes }: CompartmentRequest,
): Promise<LoadRequest> {
  const powers = tools.map((tool) => powersOf(tool, services))
  const named = code.kind === 'files' ? namedShims(codeOf(code)) : []
  const hasShims = named.length > 0
    || code.kind === 'files' && (describes || powers.some((each) => !each.isDisjointFrom(WITH_SHIM_CODE)))
  return {
    id: extension.id,
    config,
    tools: tools.map(({ name }, at) => ({ name, powers: [...powers[at]!] })),
    env: [...services.envDeclared],
    ...(hasShims && { shims: (await loadImage()).shims, natives: named.filter(isNative) }),
    ...(describes && { describes }),
    ...sources(code),
  }
}

/** Parts of `runtime` with shims whose code is sent along. */
const WITH_SHIM_CODE: ReadonlySet<RuntimePart> = new Set(['fs.read', 'fs.write', 'net', 'shell'])

type FileCode = CompartmentCode & { readonly kind: 'files' }
const codeOf = (code: FileCode): readonly (readonly [path: string, bytes: Uint8Array])[] =>
  [...code.files].filter(([path]) => CODE_FILE.test(path))

function sources(code: CompartmentCode): Pick<LoadRequest, 'main' | 'files'> {
  if (code.kind === 'module') return { main: '', files: [] }
  return {
    main: code.main,
    files: codeOf(code).map(([path, bytes]) => [path, Buffer.from(bytes).toString('base64')] as const),
  }
}

/**
 * Compares what the code offers with the manifest. Contract: throws ExportsMismatch when they differ, and
 * BoundaryViolation when the reply is malformed.
 */
export function checkOffers(reply: Json, { extension, tools }: CompartmentRequest): CompartmentSession['offers'] {
  const { tools: offered, phases } = readReply(reply)
  const declared = new Map(tools.map((tool) => [tool.name, tool]))
  const missing = [...declared.keys()].filter((name) => !offered.has(name))
  const extra = [...offered.keys()].filter((name) => !declared.has(name))
  if (missing.length > 0 || extra.length > 0) {
    throw mismatch(extension.id, [
      ...(missing.length > 0 ? [`the manifest declares ${listed(missing)}, which the code does not offer`] : []),
      ...(extra.length > 0 ? [`the code offers ${listed(extra)}, which the manifest does not declare`] : []),
    ].join('; '))
  }
  for (const [name, { input, requires }] of offered) {
    const { inputSchema, requires: needs } = declared.get(name)!
    if (input !== undefined && canonicalJson(input) !== canonicalJson(inputSchema)) {
      throw mismatch(extension.id, `the input schema of ${name} differs from the manifest's`)
    }
    if (requires !== undefined && canonicalJson(requires) !== canonicalJson(needs)) {
      throw mismatch(extension.id, `the requirements of ${name} differ from the manifest's`)
    }
  }
  const having = (part: 'approvalKey' | 'revert'): ReadonlySet<string> =>
    new Set([...offered].filter(([, tool]) => tool[part]).map(([name]) => name))
  const reverts = having('revert')
  return { phases, approvalKeys: having('approvalKey'), ...(reverts.size > 0 && { reverts }) }
}

const LISTED_NAMES = 5

/** Names can come from the code, so their number, length and characters are limited. */
function listed(names: readonly string[]): string {
  const shown = names.slice(0, LISTED_NAMES).map((name) => TOOL_NAME_PATTERN.test(name) ? name : '(invalid name)')
  return shown.join(', ') + (names.length > shown.length ? ` and ${names.length - shown.length} more` : '')
}

interface OfferedTool {
  readonly approvalKey: boolean
  readonly revert: boolean
  readonly input: Json | undefined
  readonly requires: Json | undefined
}

interface Offered {
  readonly tools: ReadonlyMap<string, OfferedTool>
  readonly phases: ReadonlySet<LifecyclePhase>
}

function readReply(reply: Json): Offered {
  if (!isJsonObject(reply) || !Array.isArray(reply['tools']) || !Array.isArray(reply['phases'])) throw malformed()
  const tools = new Map<string, OfferedTool>()
  for (const tool of reply['tools'] as readonly Json[]) {
    if (!isJsonObject(tool) || typeof tool['name'] !== 'string') throw malformed()
    const { approvalKey, revert, input, requires } = tool
    tools.set(tool['name'], { approvalKey: approvalKey === true, revert: revert === true, input, requires })
  }
  const named: ReadonlySet<Json> = new Set(reply['phases'] as readonly Json[])
  return { tools, phases: new Set(LIFECYCLE_PHASES.filter((phase) => named.has(phase))) }
}

const mismatch = (id: string, what: string): BulkheadError =>
  new BulkheadError(
    'ExportsMismatch',
    `The code of ${id} does not match its manifest: ${what}. Make both agree.`,
    { data: { extension: id } },
  )

const malformed = (): BulkheadError => new BulkheadError(
  'BoundaryViolation',
  'The compartment sent a malformed reply to the request to load, and was killed.',
)
