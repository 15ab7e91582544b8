import type { RuleAction } from '../model/names.ts'
import type { Rule } from '../validation/policy.ts'

/** What a rule does, in words. */
export const actionWords = ({ action, passkey }: Pick<Rule, 'action' | 'passkey'>): string =>
  passkey ? `${action} with a passkey` : action

const STRICTNESS: Readonly<Record<RuleAction, number>> = { allow: 0, ask: 1, deny: 3 }
/** To ask for a passkey is stricter than to ask. */
export const strictness = ({ action, passkey }: Pick<Rule, 'action' | 'passkey'>): number => STRICTNESS[action] + (passkey ? 1 : 0)
