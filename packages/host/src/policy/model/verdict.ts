import {
  BulkheadError, powerPhrases, rulePlace, type ErrorCode, type PowerItem, type RuleAction, type ScopedRule,
} from '@bulkhead/contract'
import type { ToolEntry } from '../../extensions/registry/tool-entry.ts'
import type { StagePermit } from './stage-permit.ts'

/** The stages of a decision, in their order. */
export type DecisionStage =
  | 'capability' | 'role' | 'rules' | 'tool-mode' | 'watchdog' | 'state-machine' | 'security-mode' | 'guard' | 'freeze'
  | 'budget' | 'audit' | 'approval'

/** What one stage decides about a call. */
export interface Verdict {
  readonly action: RuleAction
  readonly stage: DecisionStage
  /** The rule, flag, mode or function that decided. */
  readonly source: string
  readonly reason: string
  /** For a deny: the code of the error that the caller gets. */
  readonly code: ErrorCode
  /** For a deny: the whole error, if it has more detail than this verdict. */
  readonly error?: BulkheadError
  /** For a deny: what to do, in a sentence, if the advice of the code does not help. */
  readonly cure?: string
  /** For an ask: what asks. An approval that was given to the same answers it. Absent: only a person answers it. */
  readonly questions?: readonly string[]
  /** For an ask of a mode, or of what the host reads in the arguments: the mode yolo skips it. */
  readonly ofMode?: true
  /** For a deny of a ceiling: the least that would have to be added to it, and where. */
  readonly addition?: string
  /** A mode that a project chose does not answer it. */
  readonly isWritten?: true
  /** For an ask: only a passkey allows it, this one time. */
  readonly passkey?: true
  /** Of rules: the names of all that lead to this action. */
  readonly rules?: readonly string[]
  /** For an allow: a person, or a rule that is not of a project, said so. */
  readonly approves?: true
  /** From a state machine: what the call needs to run. For an ask, a person has to grant it. */
  readonly permit?: StagePermit
}

export const deny = (stage: DecisionStage, code: ErrorCode, source: string, reason: string): Verdict =>
  ({ action: 'deny', stage, source, reason, code })

/** `questions`: what asks, for approvals. */
export const ask = (
  stage: DecisionStage, source: string, reason: string, questions?: readonly string[],
): Verdict => ({ action: 'ask', stage, source, reason, code: 'ApprovalDenied', ...(questions && { questions }) })

/** What an approval of earlier versions answers. */
export const MODE_QUESTION = 'the mode'
const OF_MODE: readonly string[] = [MODE_QUESTION]

/** An ask that no earlier answer, and no other way to answer, settles. */
export const askForPasskey = (stage: DecisionStage, source: string, rule: string): Verdict =>
  ({ ...ask(stage, source, `${rule} asks for a passkey`), passkey: true })

/** Whether one of them demands a passkey. */
export const demandsPasskey = (asks: readonly Verdict[]): boolean => asks.some(({ passkey }) => passkey)

/** An ask of a mode. `isFresh`: earlier approvals and the allowlist do not answer it. */
export const askOfMode = (stage: DecisionStage, source: string, reason: string, isFresh = false): Verdict =>
  ({ ...ask(stage, source, reason, isFresh ? undefined : OF_MODE), ofMode: true })

export const allow = (stage: DecisionStage, source: string, reason: string): Verdict =>
  ({ action: 'allow', stage, source, reason, code: 'InternalError' })

/** An allow of a person, or of a rule that is not of a project. */
export const approve = (stage: DecisionStage, source: string, reason: string): Verdict =>
  ({ ...allow(stage, source, reason), approves: true })

/** A rule, as the subject of a sentence. */
export const ruleName = ({ permission, written = permission, pattern, ...place }: ScopedRule): string =>
  `the rule "${written} ${pattern}" of ${rulePlace(place)}`

/** What sets a ceiling: a file of the configuration, the session, or its agent. */
export type CeilingSource =
  | `policy.ceiling of ${string}` | 'ceiling of the session' | 'ceiling of the mode learn' | `${'ceiling' | 'requires'} of the agent ${string}`

/** A ceiling does not allow `more`. */
export function ceilingVerdict(more: readonly Pick<PowerItem, 'kind' | 'subject'>[], source: CeilingSource): Verdict {
  const raise = isOfAgent(source) ? `add it to the ${source}` : 'ask the operator to raise the ceiling'
  const reason = `it may reach beyond the ${source}: ${powerPhrases(more, 'may').join('; ')}`
  const addition = additionTo(source, more)
  return {
    ...deny('capability', 'CapabilityDenied', source, reason), cure: `Call a tool that can do less, or ${raise}.`,
    ...(addition !== undefined && { addition }),
  }
}

/** As a ceiling is written. undefined for what one pattern cannot name, and for commands, whose arguments are a choice. */
function additionTo(source: CeilingSource, more: readonly Pick<PowerItem, 'kind' | 'subject'>[]): string | undefined {
  const of = (kind: PowerItem['kind']): readonly string[] | undefined => {
    const found = more.filter((item) => item.kind === kind).map(({ subject }) => subject)
    return found.length === 0 ? undefined : found
  }
  const [read, write, hosts, env, secrets] = (['fs.read', 'fs.write', 'net', 'env', 'secret'] as const).map(of)
  const named = [read, write, hosts, env, secrets].reduce((sum, found) => sum + (found?.length ?? 0), 0)
  if (named < more.length || more.some(({ subject }) => subject.includes(' within '))) return undefined
  const ceiling = {
    ...((read ?? write) && { fs: { ...(read && { read }), ...(write && { write }) } }), ...(hosts && { net: { hosts } }),
    ...(env && { env }), ...(secrets && { secrets }),
  }
  return `Add ${JSON.stringify(ceiling)} to ${source === LEARNING ? 'learn.ceiling of your configuration' : `the ${source}`}.`
}

const LEARNING: CeilingSource = 'ceiling of the mode learn'

/** A tool may not do `more`, whatever is approved. */
export function grantVerdict(
  more: readonly Pick<PowerItem, 'kind' | 'subject'>[], { name, origin: { layer } }: Pick<ToolEntry, 'name' | 'origin'>,
): Verdict {
  const reason = `"${name}" may not ${powerPhrases(more, 'may').join('; ')}`
  const ofFiles = more.every(({ kind }) => kind === 'fs.read' || kind === 'fs.write')
  const cure = layer === 'bundled' && ofFiles
    ? 'Use a path inside the workspace that is not in a folder of the host.'
    : 'Pass what its requirements name, or call a tool that may do it.'
  return { ...deny('capability', 'CapabilityDenied', `${GRANT}${name}`, reason), cure }
}

const GRANT = 'requires of the tool '
export const isOfGrant = (source: string): boolean => source.startsWith(GRANT)

export const isOfAgent = (source: string): boolean => /^(?:ceiling|requires) of the agent /.test(source)

/** The verdict on an ask that no one can answer. */
export const headless = (reason = 'it requires approval, and no one is there to ask'): Verdict =>
  deny('approval', 'ApprovalDenied', 'headless', reason)

/** The strictest verdict; of equals, the first. */
export function strictest(verdicts: readonly Verdict[]): Verdict | undefined {
  let strict = verdicts[0]
  for (const verdict of verdicts) {
    if (verdict.action === 'deny') return verdict
    if (verdict.action === 'ask' && strict!.action !== 'ask') strict = verdict
  }
  return strict
}

/** The error of a deny. */
export function errorOf({ code, reason, cure, stage, source, error }: Verdict, tool: string): BulkheadError {
  if (error) return error
  const message = `The call of "${tool}" was refused: ${reason.replace(/\.$/, '')}.`
  return new BulkheadError(code, cure === undefined ? message : `${message} ${cure}`, { data: { stage, source } })
}
