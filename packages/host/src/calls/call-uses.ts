import {
  BulkheadError, type CallUse, type DeniedPaths, type RuleCapability, type UseRules, type UseVerdict,
} from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { THIS_CALL } from '../policy/approvals/offers.ts'
import type { AllowedCall, HostContext } from '../policy/call.ts'
import { usesOf, type ToolUses } from '../policy/tool-uses.ts'
import { WITHOUT_PASSKEY } from '../policy/interaction/passkeys.ts'
import { approve, ask, askForPasskey, deny, headless, type Verdict } from '../policy/model/verdict.ts'
import { approvalRequest } from './approval-request.ts'
import { emitDecided, haltIfHeadless } from './authorize.ts'

/** Uses that one call puts into the audit. A tool may repeat a refused use. */
const MOST_RECORDS = 100

/** What a person has answered about the uses of a call. It holds for all its attempts. */
const answers = new WeakMap<AllowedCall, CallAnswers>()

/** The attempt of a call that uses something. */
interface Attempt {
  /** Aborted when it ends. */
  readonly signal: AbortSignal
  /** Stops the time of the call. Returns the function that continues it. */
  pause(): () => void
}

/** undefined if no rule can deny a use of the call or ask about one. */
export function callUses(allowed: AllowedCall, host: HostContext, attempt: Attempt): UseRules | undefined {
  const uses = usesOf(allowed.call, allowed.decision.analysis, host)
  return uses && new CallUses(uses, allowed, host, attempt)
}

/** The rules about what one call uses, and the answers of a person to those that ask. */
class CallUses implements UseRules {
  readonly #uses: ToolUses
  readonly #allowed: AllowedCall
  readonly #host: HostContext
  readonly #attempt: Attempt
  readonly #answers: CallAnswers

  constructor(uses: ToolUses, allowed: AllowedCall, host: HostContext, attempt: Attempt) {
    this.#uses = uses
    this.#allowed = allowed
    this.#host = host
    this.#attempt = attempt
    this.#answers = answers.getOrInsertComputed(allowed, () => new CallAnswers(allowed))
  }

  /** What the commands of a call that the host reads could use was asked before the call. */
  get asked(): UseRules['asked'] {
    return this.#allowed.decision.analysis.command !== undefined ? []
      : this.#uses.asked.filter(({ verdict }) => !this.#answers.isYes(verdict.rule))
  }

  get deniedPaths(): DeniedPaths | undefined {
    return this.#uses.deniedPaths((rule) => this.#answers.isYes(rule))
  }

  get deniesHosts(): string | undefined {
    return this.#uses.deniesHosts
  }

  judge(capability: RuleCapability, subject: string): UseVerdict | undefined {
    return this.#uses.judge({ capability, subject }, (rule) => this.#answers.isYes(rule))
  }

  async ask(use: CallUse, { rule }: UseVerdict): Promise<void> {
    const resume = this.#attempt.pause()
    try {
      await this.#answers.of(rule, () => this.#askPerson(use, rule))
    } finally {
      resume()
    }
  }

  deny(use: CallUse, { rule }: UseVerdict): BulkheadError {
    const verdict = deny('rules', 'RuleDenied', rule, `${rule} forbids it`)
    this.#record(use, 'deny', verdict)
    return refusal(verdict, use)
  }

  async #askPerson(use: CallUse, rule: string): Promise<void> {
    const { call, decision: { analysis } } = this.#allowed
    const { interactions } = call.session
    const { signal } = this.#attempt
    signal.throwIfAborted()
    const needsPasskey = this.#uses.demandsPasskey(rule)
    const asking = needsPasskey ? askForPasskey('rules', rule, `the call wants to ${wordsOf(use)}, and ${rule}`)
      : ask('rules', rule, `${rule} asks, because the call wants to ${wordsOf(use)}`)
    const touched = { ...analysis, approvalKey: visibleText(use.subject), touches: [wordsOf(use)] }
    const answer = interactions.canApprove
      ? await interactions.approve(
        async () => approvalRequest(call, touched, [asking], [THIS_CALL], this.#host), signal, async () => undefined,
      )
      : undefined
    if (answer === undefined || answer.unavailable) haltIfHeadless(call, 'Approve')
    const verdict = answer === undefined || answer.unavailable ? headless(answer?.reason)
      : answer.arguments ? deny('approval', 'ApprovalDenied', 'person', 'the arguments of a running call cannot change')
      : answer.decision === 'later' ? deny('approval', 'ApprovalDenied', 'person', 'a person said "not now"')
      : answer.decision === 'reject' ? deny('approval', 'ApprovalDenied', 'person', answer.reason ?? 'a person said no')
      : needsPasskey && answer.proof === undefined ? deny('approval', 'ApprovalDenied', 'person', WITHOUT_PASSKEY)
      : approve('approval', 'person', answer.reason ?? `a person allowed the call to ${wordsOf(use)}`)
    this.#record(use, verdict.action === 'allow' ? 'allow' : 'deny', verdict)
    if (verdict.action !== 'allow') throw refusal(verdict, use)
  }

  #record(use: CallUse, decision: 'allow' | 'deny', verdict: Verdict): void {
    if (!this.#answers.isNew(`${verdict.source}\0${use.capability}\0${use.subject}`)) return
    emitDecided(this.#allowed, decision, verdict, this.#host, use)
  }
}

class CallAnswers {
  readonly #yes: Set<string>
  readonly #asked = new Map<string, Promise<void>>()
  readonly #recorded = new Set<string>()
  #last: Promise<unknown> = Promise.resolve()

  /** A rule that asked about the whole call is answered. */
  constructor({ decision: { verdicts } }: AllowedCall) {
    this.#yes = new Set(verdicts.flatMap(({ rules = [], action }) => action === 'ask' ? rules : []))
  }

  isYes(rule: string): boolean {
    return this.#yes.has(rule)
  }

  /** Asks once about each rule, one question after the other. */
  of(rule: string, askPerson: () => Promise<void>): Promise<void> {
    const known = this.#asked.get(rule)
    if (known) return known
    const asking = this.#last.then(askPerson).then(() => void this.#yes.add(rule))
    this.#last = asking.catch((error: unknown) => {
      // The attempt ended before the answer: the next one asks again.
      if (!BulkheadError.is(error) || error.code !== 'ApprovalDenied') this.#asked.delete(rule)
    })
    this.#asked.set(rule, asking)
    return asking
  }

  isNew(record: string): boolean {
    if (this.#recorded.has(record) || this.#recorded.size >= MOST_RECORDS) return false
    this.#recorded.add(record)
    return true
  }
}

const VERBS: Readonly<Record<RuleCapability, string>> =
  { 'fs.read': 'read', 'fs.write': 'write', 'net.fetch': 'reach', 'shell.run': 'run' }

const wordsOf = ({ capability, subject }: CallUse): string => `${VERBS[capability]} ${visibleText(subject)}`

function refusal({ code, reason, stage, source }: Verdict, use: CallUse): BulkheadError {
  const message = `The call may not ${wordsOf(use)}: ${reason.replace(/\.$/, '')}.`
  return new BulkheadError(code, message, { data: { stage, source, ...use } })
}
