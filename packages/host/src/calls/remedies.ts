import { actionWords, ERRORS, rulePlace, type ErrorCode, type Rule } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { isOfAgent, isOfGrant, type DecisionStage } from '../policy/model/verdict.ts'
import type { SmallestChange } from '../policy/smallest-change.ts'

export type DecidingStage = 'receive' | 'resolve' | 'validate' | DecisionStage

interface RemedyContext {
  readonly source: string
  /** What the verdict itself advises. */
  readonly cure?: string | undefined
  /** What a ceiling would need. */
  readonly addition?: string | undefined
  readonly tool: string
  readonly approvalKey: string
  /** Whether it can be approved for the project. */
  readonly forProject?: boolean | undefined
  /** Something else asks, which neither an approval nor the mode answers. */
  readonly asksAnyway?: boolean | undefined
}

const NOTHING: RemedyContext = { source: '', tool: '', approvalKey: '' }

/** How to change the verdict of a stage, one instruction each. */
export function remedies(stage: DecidingStage, code: ErrorCode, context: RemedyContext = NOTHING): readonly string[] {
  const { source, cure, addition, tool, forProject, asksAnyway, approvalKey } = context
  switch (stage) {
    case 'receive':
      return ['Give the call an id and the name of a tool.']
    case 'resolve':
      return code === 'ToolsDisabled' ? ['Switch the tool on in the configuration.'] : ['Call a tool that is listed.']
    case 'validate':
      return ['Send arguments that satisfy the input schema of the tool.']
    case 'capability':
      if (cure !== undefined && isOfGrant(source)) return [cure]
      return addition !== undefined ? [addition] : [
        `${isOfAgent(source) ? `Add it to the ${source}` : `Raise the ${source}`}, or call a tool that can do less.`,
      ]
    case 'role':
      return [`Turn on the ${source}.`]
    case 'rules':
      return [
        source.startsWith('machine ') ? 'Ask the administrator of this machine.'
          : `Change or remove the ${source.replace(/^the /, '')}.`,
      ]
    case 'state-machine':
      return [`Wait for a stage of the ${source} that lists "${tool}", or have a person grant the call.`]
    case 'watchdog':
    case 'guard':
      return [cure ?? `Change the arguments so that the ${source} accepts them.`]
    case 'tool-mode':
    case 'security-mode':
      return asksAnyway ? [] : [
        `Approve the key "${approvalKey}" for the session${forProject ? ' or the project' : ''}.`,
        `Put "${tool}:${approvalKey}" on the allowlist, and set the mode to allowlist.`,
      ]
    case 'freeze':
    case 'budget':
    case 'audit':
      return [ERRORS[code].cure]
    case 'approval':
      if (source === 'headless') return ['Open the session with an interactor or an approver, or with `headless: "wait"`.']
      return [code === 'ApprovalDenied' ? 'Ask again.' : ERRORS[code].cure]
  }
}

/** A change of rules as things to do, in the form that the commands take. */
export function changeWords({ add, remove, allows }: SmallestChange): readonly string[] {
  const removed = remove.map((rule) => rule.author === 'user'
    ? `Remove the rule of ${rulePlace(rule)}: ${commandLine('remove', rule)}`
    : `Remove the rule "${rule.permission} ${rule.pattern} ${actionWords(rule)}" of ${rulePlace(rule)}.`)
  const added = add.map((rule, index) => `Allow ${allows[index]}, in every session: ${commandLine('add', rule)}`)
  return [...removed, ...added]
}

/** As a shell takes it. */
const commandLine = (act: 'add' | 'remove', { permission, pattern, action, passkey }: Rule): string =>
  `bulkhead policy ${act} ${[permission, pattern, action].map(quoted).join(' ')}${passkey ? ' --passkey' : ''}`

const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${visibleText(word).replaceAll("'", `'\\''`)}'`
