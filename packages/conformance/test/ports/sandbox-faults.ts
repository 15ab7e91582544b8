import {
  BulkheadError, DEFAULT_LIMITS, LIFECYCLE_PHASES, NO_GRANT, type CompartmentEnd, type CompartmentLimits,
  type CompartmentRequest, type CompartmentServices, type CompartmentSession, type ErrorCode, type ExtensionModule,
  type Power, type Sandbox, type ToolInvocation,
} from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'

/** A sandbox with one fault, and the requirements that it breaks. All others of their groups hold. */
export interface FaultySandbox {
  readonly breaks: readonly string[]
  readonly wrap: (sandbox: Sandbox) => Sandbox
}

type Call = CompartmentSession['call']
const never = <Value>(): Promise<Value> => new Promise(() => {})

const requests = (
  change: (request: CompartmentRequest) => Partial<CompartmentRequest>,
) => (sandbox: Sandbox): Sandbox =>
  ({ ...sandbox, open: (request) => sandbox.open({ ...request, ...change(request) }) })
const limits = (more: Partial<CompartmentLimits>) => requests((request) => ({ limits: { ...request.limits, ...more } }))
const services = (more: Partial<CompartmentServices>) =>
  requests((request) => ({ services: { ...request.services, ...more } }))
const grants = (name: string, grant: Power) => requests(({ tools }) => ({
  tools: tools.map((tool) => tool.name === name ? { ...tool, grant } : tool),
}))

/** Replaces members of every session. */
const sessions = (
  change: (session: CompartmentSession, request: CompartmentRequest) => Partial<CompartmentSession>,
) => (sandbox: Sandbox): Sandbox => ({
  ...sandbox, open: async (request) => {
    const session = await sandbox.open(request)
    const members = new Map(Object.entries(change(session, request)))
    return new Proxy(session, {
      get(target, key) {
        if (members.has(key as string)) return members.get(key as string)
        const value: unknown = Reflect.get(target, key, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  },
})
const calls = (change: (call: Call, session: CompartmentSession) => Call) =>
  sessions((session) => ({ call: change((invocation) => session.call(invocation), session) }))
/** Turns one error of calls into something else. */
const onError = (code: ErrorCode, change: (error: BulkheadError) => Json) => calls((call) => (invocation) =>
  call(invocation).catch((error: BulkheadError) => {
    if (error.code === code) return change(error)
    throw error
  }))
const raise = (code: ErrorCode, message = 'Another error.'): never => {
  throw new BulkheadError(code, message)
}
/** Opens something although the code is refused. */
const opening = (code: ErrorCode) => (sandbox: Sandbox): Sandbox => ({
  ...sandbox, open: (request) => sandbox.open(request).catch((error: BulkheadError) => {
    if (error.code === code) return { close: async () => undefined } as CompartmentSession
    throw error
  }),
})

/** The tool without any sandbox. */
async function nakedTool({ code }: CompartmentRequest, name: string): Promise<ExtensionModule['tools'][string]> {
  const source = code.kind === 'files' ? Buffer.from(code.files.get('index.js')!).toString('base64') : ''
  return (await import(`data:text/javascript;base64,${source}`) as { default: ExtensionModule }).default.tools[name]!
}

export const FAULTY_SANDBOXES: Readonly<Record<string, FaultySandbox>> = {
  'passes no configuration': { breaks: ['sandbox-phases'], wrap: requests(() => ({ config: {} })) },
  'demands every phase': {
    breaks: ['sandbox-phase-missing'],
    wrap: sessions((session) => ({
      lifecycle: async (phase) =>
        session.offers.phases.has(phase) ? session.lifecycle(phase) : raise('LifecycleFailure'),
    })),
  },
  'swallows errors of phases': {
    breaks: ['sandbox-phase-throws', 'sandbox-phase-timeout'],
    wrap: sessions((session) => ({ lifecycle: (phase) => session.lifecycle(phase).catch(() => undefined) })),
  },
  'waits for phases without a limit': { breaks: ['sandbox-phase-timeout'], wrap: limits({ phaseMs: 3_600_000 }) },
  'offers every phase': {
    breaks: ['sandbox-offers'],
    wrap: sessions(({ offers }) => ({ offers: { ...offers, phases: new Set(LIFECYCLE_PHASES) } })),
  },
  'opens code with other tools': { breaks: ['sandbox-exports'], wrap: opening('ExportsMismatch') },
  'opens code that failed': { breaks: ['sandbox-import'], wrap: opening('CompartmentStartFailed') },
  'ignores the signal of an opening': {
    breaks: ['sandbox-open-aborted'],
    wrap: (sandbox) => ({ ...sandbox, open: ({ signal: _, ...request }) => sandbox.open(request) }),
  },

  'turns nothing into an object': {
    breaks: ['sandbox-result'], wrap: calls((call) => async (invocation) => await call(invocation) ?? {}),
  },
  'turns what is not JSON into null': { breaks: ['sandbox-result-json'], wrap: onError('OutputMalformed', () => null) },
  'has no limit for results': {
    breaks: ['sandbox-result-size'],
    wrap: limits({ outputBytes: DEFAULT_LIMITS.outputBytes }),
  },
  'hides messages of tools': {
    breaks: ['sandbox-tool-error'],
    wrap: onError('ToolExecutionFailed', () => raise('ToolExecutionFailed')),
  },
  'believes error codes of tools': {
    breaks: ['sandbox-error-codes'],
    wrap: onError('ToolExecutionFailed', (error) => {
      const { code } = (error.data ?? {}) as { readonly code?: ErrorCode }
      throw code ? new BulkheadError(code, error.message) : error
    }),
  },
  'calls back twice': {
    breaks: ['sandbox-settles-once'],
    wrap: calls((call) => (invocation) => ({
      then(resolve: (value: Json) => void, reject: (error: unknown) => void) {
        const answer = call(invocation)
        for (let time = 0; time < 2; time++) answer.then(resolve, reject)
      },
    }) as Promise<Json>),
  },
  'mixes up results': {
    breaks: ['sandbox-settles-once'],
    wrap: calls((call) => {
      let last: Json = null
      return async (invocation) => {
        const before = last
        last = invocation.args
        const value = await call(invocation)
        return invocation.tool === 'echo' && 'index' in invocation.args ? { args: before } : value
      }
    }),
  },
  'reports late': {
    breaks: ['sandbox-progress'],
    wrap: calls((call) => ({ onProgress, ...invocation }) =>
      call({ ...invocation, onProgress: (text) => void setTimeout(() => onProgress?.(text), 200) })),
  },
  'runs all calls at once': { breaks: ['sandbox-concurrency'], wrap: limits({ concurrentCalls: 64 }) },
  'takes the name for the key': {
    breaks: ['sandbox-approval-key'],
    wrap: sessions(() => ({ deriveApprovalKey: async (tool) => tool })),
  },
  'migrates by copying': {
    breaks: ['sandbox-migration'],
    wrap: sessions(() => ({ migrateState: async ({ data }) => data })),
  },

  'grants the powers of the extension': {
    breaks: ['sandbox-runtime-parts', 'sandbox-undeclared'],
    wrap: requests(({ tools }) => {
      const { grant } = tools.find(({ name }) => name === 'files')!
      return { tools: tools.map((tool) => tool.name === 'bare' ? { ...tool, grant } : tool) }
    }),
  },
  'grants nothing': { breaks: ['sandbox-files'], wrap: grants('files', NO_GRANT) },
  'grants all files': {
    breaks: ['sandbox-files-outside'],
    wrap: grants('files', { ...NO_GRANT, fs: { read: ['/**'], write: ['/**'], roots: ['/'] } }),
  },
  'ignores the grant of a call': {
    breaks: ['sandbox-session-grant'],
    wrap: calls((call) => ({ grant: _, ...invocation }) => call(invocation)),
  },
  'passes the environment on': {
    breaks: ['sandbox-env'],
    wrap: services({
      env: new Map([['VERIFY_SET', 'value'], ['PATH', '/bin']]),
      envDeclared: new Set(['VERIFY_SET', 'VERIFY_UNSET', 'PATH']),
    }),
  },
  'answers for people': {
    breaks: ['sandbox-services'],
    wrap: services({ interact: async () => ({ status: 'accepted', value: true }) }),
  },
  'keeps no state': {
    breaks: ['sandbox-state'],
    wrap: requests(({ services: own }) => own.state
      ? { services: { ...own, state: { read: async () => null, write: async () => undefined } } } : {}),
  },
  'is not locked': {
    breaks: ['sandbox-ambient'],
    wrap: sessions((session, request) => ({
      call: async (invocation) => invocation.tool !== 'ambient' ? session.call(invocation)
        : await (await nakedTool(request, 'ambient')).execute(invocation.args as never, {} as never) as Json,
    })),
  },
  'opens everything in one compartment': {
    breaks: ['sandbox-isolated', 'sandbox-services', 'sandbox-state'],
    wrap: (sandbox) => {
      let only: Promise<CompartmentSession> | undefined
      return { ...sandbox, open: (request) => (only ??= sandbox.open(request)) }
    },
  },

  'hides why a call was cancelled': {
    breaks: ['sandbox-abort', 'sandbox-abort-early'],
    wrap: onError('TurnCancelled', () => raise('ToolCancelled')),
  },
  'does not notify tools': {
    breaks: ['sandbox-abort-notified', 'sandbox-kill', 'sandbox-kill-others'],
    wrap: calls((call) => (invocation) => {
      const { signal } = invocation
      if (signal.aborted) return call(invocation)
      const aborted = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      return Promise.race([aborted, call({ ...invocation, signal: new AbortController().signal })])
    }),
  },
  'is of no use after a cancelled call': {
    breaks: ['sandbox-abort-next'],
    wrap: calls((call) => {
      let isSpoiled = false
      return (invocation) => {
        if (isSpoiled) {
          isSpoiled = false
          return Promise.reject(new BulkheadError('CompartmentGone', 'Gone.'))
        }
        invocation.signal.addEventListener('abort', () => { isSpoiled = true })
        return call(invocation)
      }
    }),
  },
  'runs cancelled calls': {
    breaks: ['sandbox-abort-early'],
    wrap: calls((call) => async (invocation) => {
      if (invocation.signal.aborted) await call({ ...invocation, callId: 'ran', signal: new AbortController().signal })
      return call(invocation)
    }),
  },
  'never kills': { breaks: ['sandbox-kill', 'sandbox-kill-others'], wrap: limits({ graceMs: 3_600_000 }) },
  'forgets calls of a killed compartment': {
    breaks: ['sandbox-kill-others'],
    wrap: onError('CompartmentKilled', () => never() as never),
  },

  'blames tools for crashes': {
    breaks: ['sandbox-crash'],
    wrap: onError('CompartmentCrashed', () => raise('ToolExecutionFailed')),
  },
  'takes a crash for a stop': {
    breaks: ['sandbox-crash-ended'],
    wrap: sessions(({ ended }) => ({ ended: ended.then((): CompartmentEnd => ({ kind: 'closed' })) })),
  },
  'does not know what ran': {
    breaks: ['sandbox-gone'],
    wrap: onError('CompartmentGone', () => raise('CompartmentCrashed')),
  },
  'starts dead compartments': {
    breaks: ['sandbox-crash-phase'],
    wrap: sessions((session) => ({ lifecycle: (phase) => session.lifecycle(phase).catch(() => undefined) })),
  },
  'does not name limits': {
    breaks: ['sandbox-heap'],
    wrap: onError('CompartmentOutOfHeap', () => raise('CompartmentCrashed')),
  },

  'drops calls when it closes': {
    breaks: ['sandbox-close'],
    wrap: calls((call) => ({ tool, ...invocation }: ToolInvocation) =>
      tool === 'stay' ? call({ ...invocation, tool }).catch(() => never()) : call({ ...invocation, tool })),
  },
  'closes once': {
    breaks: ['sandbox-close-again'],
    wrap: sessions((session) => {
      let isClosed = false
      return {
        close: async (reason) => {
          if (isClosed) raise('InternalError')
          isClosed = true
          return session.close(reason)
        },
      }
    }),
  },
  'answers for closed compartments': {
    breaks: ['sandbox-closed'],
    wrap: calls((call) => (invocation) => call(invocation).catch((error: unknown) => {
      if (invocation.tool === 'echo') return null
      throw error
    })),
  },
  'forgets its compartments': {
    breaks: ['sandbox-close-all'],
    wrap: (sandbox) => ({ ...sandbox, close: async () => undefined }),
  },
}
