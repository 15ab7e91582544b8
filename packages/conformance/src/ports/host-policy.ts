import type { ApprovalAnswer, ApprovalRequest, Approver, ErrorCode, Outcome, RuleAction } from '@bulkhead/contract'
import { firstOf } from '../requirement.ts'
import {
  unlessCode, unlessOutput, withHost, type HostBench, type HostTarget, type VerifiedSession,
  type VerifiedSessionOptions,
} from './host-bench.ts'
import { groupOf, observed, settle, type Bench, type Settled } from './verify.ts'

/** A session, and the answer of its person, if there is one. */
interface Setting extends Omit<VerifiedSessionOptions, 'approver'> {
  readonly answer?: ApprovalAnswer['decision']
}

const rule = (action: RuleAction): NonNullable<Setting['rules']>[number] =>
  ({ permission: 'verify_write', pattern: '*', action })

const SETTINGS = {
  'denied': { mode: 'yolo', rules: [rule('deny')] },
  'denied-and-allowed': { mode: 'yolo', rules: [rule('deny'), rule('allow')] },
  'allowed': { mode: 'ask', rules: [rule('allow')] },
  'unattended': { mode: 'ask' },
  'approved': { mode: 'ask', answer: 'once' },
  'rejected': { mode: 'ask', answer: 'reject' },
  'yolo': { mode: 'yolo' },
  'ceiling': { mode: 'yolo', ceiling: {} },
  'spent': { mode: 'yolo', budget: { calls: 0 } },
} as const satisfies Readonly<Record<string, Setting>>
type Name = keyof typeof SETTINGS

interface Trial {
  readonly explained: Settled<{ readonly decision: RuleAction; readonly code?: string }>
  /** Whether the explanation ran the tool or asked a person. */
  readonly isLoud: boolean
  readonly asked: readonly ApprovalRequest[]
  readonly outcome: Settled<Outcome>
  readonly ran: boolean
}

async function observePolicy(target: HostTarget, bench: Bench) {
  return withHost(target, bench, async (world) => {
    const trials: Partial<Record<Name, Trial>> = {}
    for (const [name, setting] of Object.entries(SETTINGS)) trials[name as Name] = await tryOut(world, name, setting)
    const { host, call } = world
    const asked: ApprovalRequest[] = []
    const open = (): Promise<VerifiedSession> => host.openSession({ mode: 'ask', approver: person('session', asked) })
    const first = await open()
    const remembered: number[] = []
    for (const [session, name] of [[first, 'a'], [first, 'a'], [first, 'b'], [await open(), 'a']] as const) {
      const before = asked.length
      await call(session, 'verify_write', { name })
      remembered.push(asked.length - before)
    }
    const poor = await host.openSession({ budget: { calls: 1 } })
    const budget = [await call(poor, 'verify_echo', { text: 'a' }), await call(poor, 'verify_echo', { text: 'b' })]
    return { trials: trials as Record<Name, Trial>, remembered, budget }
  })
}

const person = (decision: ApprovalAnswer['decision'], asked: ApprovalRequest[]): Approver => ({
  async approve(request) {
    asked.push(request)
    return { decision, reason: 'Decided by the verification.' }
  },
})

async function tryOut({ host, call, hasRun, patienceMs }: HostBench, name: string, setting: Setting): Promise<Trial> {
  const { answer, ...options } = setting
  const asked: ApprovalRequest[] = []
  const approver = answer && person(answer, asked)
  const session = await host.openSession({ ...options, ...(approver && { approver }) })
  const wanted = { id: `explain-${name}`, name: 'verify_write', arguments: { name } }
  const explained = await settle(() => session.explain(wanted), { patienceMs })
  const isLoud = asked.length > 0 || await hasRun(name)
  const outcome = await call(session, 'verify_write', { name }, { id: name })
  await session.close()
  return { explained, isLoud, asked, outcome, ran: await hasRun(name) }
}

/** Evidence if the call ran, or ended in another way. */
const unlessRefused = ({ outcome, ran }: Trial, code: ErrorCode): string | undefined =>
  ran ? 'the tool ran' : unlessCode(outcome, code)
const unlessRan = ({ outcome, ran }: Trial): string | undefined =>
  unlessOutput(outcome) ?? (ran ? undefined : 'the tool did not run')
const unlessAsked = ({ asked }: Trial, times: number): string | undefined =>
  asked.length === times ? undefined : `a person was asked ${asked.length} times`

/** Evidence if the explanation does not foretell the call. */
function disagreement(name: string, { explained: { value, error }, asked, outcome }: Trial): string | undefined {
  if (!value) return `explain of "${name}" ended with ${error?.code ?? 'nothing'}`
  const { decision, code } = value
  const end = outcome.value?.type === 'error' ? outcome.value.error.code : 'output'
  const agrees = decision === 'ask' ? asked.length === 1
    : asked.length === 0 && (decision === 'allow' ? end === 'output' : end === code)
  return agrees ? undefined
    : `"${name}" is ${decision}${code ? ` with ${code}` : ''} in explain, and the call ended with ${end}`
}

const SPEC = 'docs/guides/approvals.md'
export const POLICY = groupOf(observed(observePolicy), [
  {
    id: 'host-deny', level: 'must', spec: SPEC,
    statement: 'A call that a rule denies ends with RuleDenied and does not run, also in the mode yolo.',
    why: 'A rule is the word of the operator.',
    cure: 'Evaluate rules before the mode, and run nothing that they deny.',
    check: ({ trials }) => unlessRefused(trials.denied, 'RuleDenied'),
  },
  {
    id: 'host-deny-wins', level: 'must', spec: SPEC,
    statement: 'Of two equal rules, deny wins over allow.',
    why: 'The stricter of two sources applies.',
    cure: 'Take the strictest verdict.',
    check: ({ trials }) => unlessRefused(trials['denied-and-allowed'], 'RuleDenied'),
  },
  {
    id: 'host-allow', level: 'must', spec: SPEC,
    statement: 'A call that a rule allows runs without a question.',
    why: 'The operator has decided.',
    cure: 'Let a rule answer for the mode.',
    check: ({ trials }) => unlessRan(trials.allowed) ?? unlessAsked(trials.allowed, 0),
  },
  {
    id: 'host-yolo', level: 'must', spec: SPEC,
    statement: 'The mode yolo runs gated calls without a question.',
    why: 'The operator has accepted the risk.',
    cure: 'Let the mode turn its own question into allow.',
    check: ({ trials }) => unlessRan(trials.yolo) ?? unlessAsked(trials.yolo, 0),
  },
  {
    id: 'host-unattended', level: 'must', spec: SPEC,
    statement: 'A gated call in a session without a person ends with ApprovalDenied and does not run.',
    why: 'No answer is not a yes.',
    cure: 'Deny what would ask.',
    check: ({ trials }) => unlessRefused(trials.unattended, 'ApprovalDenied'),
  },
  {
    id: 'host-approved', level: 'must', spec: SPEC,
    statement: 'A gated call asks once, and runs if the person agrees.',
    why: 'One question for all reasons; more of them are answered without reading.',
    cure: 'Collect the reasons, then ask.',
    check: ({ trials }) => unlessAsked(trials.approved, 1) ?? unlessRan(trials.approved),
  },
  {
    id: 'host-rejected', level: 'must', spec: SPEC,
    statement: 'A call that the person rejects ends with ApprovalDenied and does not run.',
    why: 'The person said no.',
    cure: 'Run nothing before the answer.',
    check: ({ trials }) => unlessRefused(trials.rejected, 'ApprovalDenied') ?? unlessAsked(trials.rejected, 1),
  },
  {
    id: 'host-question', level: 'must', spec: SPEC,
    statement: 'The question names the call, the tool, the key and the complete arguments.',
    why: 'A person cannot agree to what they do not see.',
    cure: 'Fill in every field of ApprovalRequest.',
    check: ({ trials: { approved: { asked: [request] } } }) => firstOf<[string, boolean]>([
      ['callId', request?.callId === 'approved'], ['tool', request?.tool === 'verify_write'],
      ['approvalKey', request?.approvalKey === 'approved'],
      ['argumentsText', request?.argumentsText.includes('"approved"') === true],
      ['reasons', (request?.reasons.length ?? 0) > 0],
    ], ([field, isRight]) => isRight ? undefined : `${field} is missing or wrong`),
  },
  {
    id: 'host-approval-session', level: 'must', spec: SPEC,
    statement: 'An approval for the session covers the same tool and key in this session, and nothing else.',
    why: 'Another key is another thing; another session is another task.',
    cure: 'Store approvals by session, tool and key.',
    check: ({ remembered }) => remembered.join() === '1,0,1,1' ? undefined
      : `first, same, other key, other session: a person was asked ${remembered.join(', ')} times`,
  },
  {
    id: 'host-ceiling', level: 'must', spec: 'docs/reference/configuration.md',
    statement: 'A tool cannot do more than the ceiling of its session allows.',
    why: 'An embedder limits a session whatever its tools declare.',
    cure: 'Refuse the call, or narrow its grant.',
    check: ({ trials: { ceiling: { ran, outcome } } }) => ran ? 'the tool ran'
      : outcome.value?.type === 'error' ? undefined : 'the call did not end with an error',
  },
  {
    id: 'host-budget', level: 'must', spec: 'docs/guides/sessions.md',
    statement: 'A call beyond the budget of its session ends with BudgetExhausted.',
    why: 'A loop must end.',
    cure: 'Reserve before a call runs.',
    check: ({ budget: [within, beyond] }) => unlessOutput(within!) ?? unlessCode(beyond!, 'BudgetExhausted'),
  },
  {
    id: 'host-explain', level: 'must', spec: SPEC,
    statement: 'explain foretells each call: allow runs, deny ends with its code, ask asks a person.',
    why: 'An operator tests a policy with it.',
    cure: 'Use the same stages for both.',
    check: ({ trials }) => firstOf(Object.entries(trials), ([name, trial]) => disagreement(name, trial)),
  },
  {
    id: 'host-explain-quiet', level: 'must', spec: SPEC,
    statement: 'explain runs nothing and asks no person.',
    why: 'It is used to look, not to act.',
    cure: 'Stop before approval and execution.',
    check: ({ trials }) => firstOf(Object.entries(trials), ([name, { isLoud }]) =>
      isLoud ? `"${name}" ran or asked` : undefined),
  },
])
