import {
  BulkheadError, COMMAND_SEVERITIES, requireOptions, type CommandClassification, type CommandSafetyPattern,
  type CommandSeverity,
} from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { forms } from '@bulkhead/kit/options'
import type { RE2JS } from 're2js'
import { re2js } from '../../extensions/schema-checks.ts'
import { EVERYWHERE_PATTERNS } from './everywhere-patterns.ts'
import { UNIX_PATTERNS } from './unix-patterns.ts'
import { WINDOWS_PATTERNS } from './windows-patterns.ts'

/** The patterns that ship with the host. */
export const COMMAND_SAFETY_PATTERNS: readonly CommandSafetyPattern[] =
  Object.freeze([...EVERYWHERE_PATTERNS, ...UNIX_PATTERNS, ...WINDOWS_PATTERNS].map((pattern) => Object.freeze(pattern)))

export type CommandClassifier = (text: string) => CommandClassification

const SAFE: CommandClassification = Object.freeze({ severity: 'safe', matchedRules: Object.freeze([]) })

const OPTIONS = {
  patterns: forms.list(forms.whole({ id: forms.text, pattern: forms.text, severity: forms.oneOf(...COMMAND_SEVERITIES) })),
}

/**
 * Takes time linear in the text: neither a command nor a pattern can block the host. Throws ConfigInvalid for an
 * invalid list of patterns, and for a pattern that cannot be compiled.
 */
export function createCommandClassifier(patterns: readonly CommandSafetyPattern[] = COMMAND_SAFETY_PATTERNS): CommandClassifier {
  requireOptions('createCommandClassifier', { patterns }, OPTIONS)
  const rules = patterns.map((rule) => ({ rule, found: compile(rule) }))
  // One test for all patterns: most commands match none. A flag that a pattern sets ends with its group.
  const any = re2js().RE2JS.compile(patterns.map(({ pattern }) => `(?:${pattern})`).join('|') || NEVER)
  return (text) => {
    if (!any.test(text)) return SAFE
    const matchedRules = rules.filter(({ found }) => found.test(text)).map(({ rule }) => rule)
    return { severity: worst(matchedRules), matchedRules }
  }
}

const NEVER = '[^\\s\\S]'

const worst = (rules: readonly CommandSafetyPattern[]): CommandSeverity =>
  rules.some(({ severity }) => severity === 'critical') ? 'critical' : 'warning'

type Compiled = { readonly pattern: string } & ({ readonly found: RE2JS } | { readonly fault: string })

/** A configuration is compiled to report its faults and to use it; this keeps the result. */
const compiled = new WeakMap<CommandSafetyPattern, Compiled>()

function look(rule: CommandSafetyPattern): Compiled {
  const { id, pattern } = rule
  const known = compiled.get(rule)
  if (known?.pattern === pattern) return known
  let looked: Compiled
  try {
    looked = { pattern, found: re2js().RE2JS.compile(pattern) }
  } catch (thrown) {
    looked = { pattern, fault: `The pattern of "${id}" is not a regular expression of RE2: ${messageOf(thrown)}.` }
  }
  compiled.set(rule, looked)
  return looked
}

function compile(rule: CommandSafetyPattern): RE2JS {
  const looked = look(rule)
  if ('fault' in looked) throw new BulkheadError('ConfigInvalid', looked.fault)
  return looked.found
}

/** Why a pattern cannot be used, or undefined. */
export function patternFault(rule: CommandSafetyPattern): string | undefined {
  const looked = look(rule)
  return 'fault' in looked ? looked.fault : undefined
}
