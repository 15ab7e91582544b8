import type { VerifiedCall, VerifiedHost, VerifiedSession, VerifiedSessionOptions } from '@bulkhead/conformance'
import type { ApprovalAnswer, Approver, BulkheadEvent, ErrorOutcome, Outcome } from '@bulkhead/contract'

/** A host with one fault, and the requirements that it breaks. All others of their groups hold. */
export interface FaultyHost {
  readonly breaks: readonly string[]
  readonly wrap: (host: VerifiedHost) => VerifiedHost
}

const sessions =
  (change: (session: VerifiedSession, host: VerifiedHost) => Partial<VerifiedSession>) =>
  (host: VerifiedHost): VerifiedHost => ({
    ...host,
    async openSession(options) {
      const session = await host.openSession(options)
      return {
        call: (call, more) => session.call(call, more), explain: (call) => session.explain(call),
        close: () => session.close(), ...change(session, host),
      }
    },
  })
const calls = (change: (call: VerifiedCall) => Partial<VerifiedCall>) =>
  sessions((session) => ({ call: (call, options) => session.call({ ...call, ...change(call) }, options) }))
const outcomes = (change: (outcome: Outcome) => Outcome) =>
  sessions((session) => ({ call: async (call, options) => change(await session.call(call, options)) }))
const errors = (change: (outcome: ErrorOutcome) => Partial<ErrorOutcome>) =>
  outcomes((outcome) => outcome.type === 'error' ? { ...outcome, ...change(outcome) } : outcome)
/** Ends with ToolExecutionFailed what ended with another code. */
const blaming = (code: string) => errors(({ error }) =>
  error.code === code ? { error: { code: 'ToolExecutionFailed', class: 'ToolTerminal', retryable: false } } : {})
const events = (change: (event: BulkheadEvent) => readonly BulkheadEvent[]) => (host: VerifiedHost): VerifiedHost => ({
  ...host, on: (listener) => host.on((event) => {
    for (const one of change(event)) listener(one)
  }),
})
const options =
  (change: (options: VerifiedSessionOptions) => VerifiedSessionOptions) =>
  (host: VerifiedHost): VerifiedHost => ({ ...host, openSession: (given) => host.openSession(change(given)) })
const approvers = (change: (approver: Approver) => Approver) =>
  options(({ approver, ...rest }) => ({ ...rest, ...(approver && { approver: change(approver) }) }))
const END = /^ToolInvocation(?:Succeeded|Failed|Cancelled)$/

export const FAULTY_HOSTS: Readonly<Record<string, FaultyHost>> = {
  'hides a tool': {
    breaks: ['host-tools'],
    wrap: (host) => ({ ...host, tools: () => host.tools().filter(({ name }) => name !== 'verify_echo') }),
  },
  'shouts': {
    breaks: ['host-output'],
    wrap: outcomes((outcome) =>
      outcome.type === 'output' && outcome.metadata.call_id === 'echo'
        ? { ...outcome, data: { text: 'GRÜSSE' } }
        : outcome,
    ),
  },
  'rejects calls of unknown tools': {
    breaks: ['host-unknown-tool', 'host-outcome'],
    wrap: outcomes((outcome) => {
      if (outcome.type === 'error' && outcome.error.code === 'ToolNotRegistered')
        throw new Error('There is no such tool.')
      return outcome
    }),
  },
  'parses strings': {
    breaks: ['host-invalid-arguments'],
    wrap: calls(({ arguments: args }) => (typeof args === 'string' ? { arguments: JSON.parse(args) as unknown } : {})),
  },
  'makes up ids': { breaks: ['host-malformed-call'], wrap: calls(({ id }) => (id === '' ? { id: 'made-up' } : {})) },
  'hides messages of tools': { breaks: ['host-tool-error'], wrap: errors(() => ({ error_text: 'It failed.' })) },
  'knows one class of errors': {
    breaks: ['host-outcome'], wrap: errors(({ error }) => ({ error: { ...error, class: 'Session' } })),
  },
  'ends calls twice': {
    breaks: ['host-settles-once', 'host-events'],
    wrap: events((event) => (END.test(event.type) ? [event, event] : [event])),
  },
  'mixes up outcomes': {
    breaks: ['host-settles-once'],
    wrap: outcomes((outcome) =>
      outcome.metadata.call_id === 'together-3'
        ? { ...outcome, metadata: { ...outcome.metadata, call_id: 'together-5' } }
        : outcome,
    ),
  },
  'blames tools for cancelled calls': { breaks: ['host-cancel'], wrap: blaming('ToolCancelled') },
  'ignores time limits': {
    breaks: ['host-deadline', 'host-outcome'],
    wrap: sessions((session) => ({
      call: (call, { timeoutMs, ...more } = {}) =>
        session.call(call, timeoutMs === 100 ? more : { ...more, ...(timeoutMs !== undefined && { timeoutMs }) }),
    })),
  },
  'blames tools for crashes': { breaks: ['host-crash'], wrap: blaming('CompartmentCrashed') },
  'gives up after a crash': {
    breaks: ['host-restart'],
    wrap: sessions((session) => {
      let crash: Outcome | undefined
      return {
        async call(call, more) {
          const outcome = crash ?? (await session.call(call, more))
          if (outcome.type === 'error' && outcome.error.code === 'CompartmentCrashed') crash = outcome
          return outcome
        },
      }
    }),
  },
  'emits no decisions': {
    breaks: ['host-events'], wrap: events((event) => (event.type === 'ToolInvocationDecided' ? [] : [event])),
  },
  'records no ends': {
    breaks: ['host-audit'],
    wrap: (host) => ({
      ...host,
      audit: async () =>
        (await host.audit()).filter(({ record }) => !END.test(String((record as { readonly type?: string }).type))),
    }),
  },

  'lets denied calls through': {
    breaks: ['host-deny', 'host-deny-wins'],
    wrap: options(({ rules = [], ...rest }) => ({ ...rest, rules: rules.filter(({ action }) => action !== 'deny') })),
  },
  'takes the last rule': {
    breaks: ['host-deny-wins'], wrap: options(({ rules = [], ...rest }) => ({ ...rest, rules: rules.slice(-1) })),
  },
  'ignores what is allowed': {
    breaks: ['host-allow'],
    wrap: options(({ rules = [], ...rest }) => ({ ...rest, rules: rules.filter(({ action }) => action !== 'allow') })),
  },
  'knows no mode': { breaks: ['host-yolo'], wrap: options((given) => ({ ...given, mode: 'ask' })) },
  'agrees for people who are not there': {
    breaks: ['host-unattended', 'host-explain'],
    wrap: options((given) => ({ approver: { approve: async () => ({ decision: 'once' }) }, ...given })),
  },
  'asks twice': {
    breaks: ['host-approved', 'host-rejected', 'host-approval-session', 'host-explain'],
    wrap: approvers((approver) => ({
      async approve(request, signal) {
        await approver.approve(request, signal)
        return approver.approve(request, signal)
      },
    })),
  },
  'runs what was rejected': {
    breaks: ['host-rejected'],
    wrap: approvers((approver) => ({
      async approve(request, signal): Promise<ApprovalAnswer> {
        const { decision } = await approver.approve(request, signal)
        return { decision: decision === 'reject' ? 'once' : decision }
      },
    })),
  },
  'asks without arguments': {
    breaks: ['host-question'],
    wrap: approvers((approver) => ({
      approve: (request, signal) => approver.approve({ ...request, argumentsText: '' }, signal),
    })),
  },
  'remembers approvals for everything': {
    breaks: ['host-approval-session'],
    wrap: (host) => {
      let remembered: ApprovalAnswer | undefined
      return approvers((approver) => ({
        async approve(request, signal) {
          const answer = remembered ?? (await approver.approve(request, signal))
          if (answer.decision === 'session') remembered = answer
          return answer
        },
      }))(host)
    },
  },
  'knows no ceiling': { breaks: ['host-ceiling'], wrap: options(({ ceiling: _, ...rest }) => rest) },
  'knows no budget': { breaks: ['host-budget'], wrap: options(({ budget: _, ...rest }) => rest) },
  'explains everything as allowed': {
    breaks: ['host-explain'], wrap: sessions(() => ({ explain: async () => ({ decision: 'allow' }) })),
  },
  'tries calls to explain them': {
    breaks: ['host-explain-quiet'],
    wrap: sessions((session) => ({
      async explain(call) {
        const explained = await session.explain(call)
        if (explained.decision === 'allow') await session.call(call)
        return explained
      },
    })),
  },

  'serves closed sessions': {
    breaks: ['host-session-close'],
    wrap: sessions((session, host) => {
      let isClosed = false
      return {
        call: async (call, more) =>
          isClosed ? (await host.openSession({})).call(call, more) : session.call(call, more),
        close: () => {
          isClosed = true
          return session.close()
        },
      }
    }),
  },
  'closes once': {
    breaks: ['host-close'],
    wrap: (host) => {
      let isClosed = false
      return {
        ...host,
        async close() {
          if (isClosed) throw new Error('It is closed.')
          isClosed = true
          return host.close()
        },
      }
    },
  },
  'opens sessions after the end': {
    breaks: ['host-closed'],
    wrap: (host) => ({ ...host, openSession: (given) => host.openSession(given).catch(() => ({}) as VerifiedSession) }),
  },
  'disposes nothing': {
    breaks: ['host-phases'],
    wrap: events((event) => (event.type === 'LifecyclePhaseStart' && event.phase === 'dispose' ? [] : [event])),
  },
}
