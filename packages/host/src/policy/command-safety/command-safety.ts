import {
  BulkheadError, COMMAND_SEVERITIES, ERRORS, requireOptions, type CommandClassification, type CommandSafetyConfig,
  type CommandSafetyPattern, type CommandSeverity, type Diagnostic, type LayerConfig,
} from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { forms } from '@bulkhead/kit/options'
import type { RE2JS } from 're2js'
import { re2js } from '../../extensions/schema-checks.ts'
import { diagnosticLayer } from '../../model/settings.ts'
import { EVERYWHERE_PATTERNS } from './everywhere-patterns.ts'
import { UNIX_PATTERNS } from './unix-patterns.ts'
import { WINDOWS_PATTERNS } from './windows-patterns.ts'

/** The patterns that ship with the host. */
export const COMMAND_SAFETY_PATTERNS: readonly CommandSafetyPattern[] =
  Object.freeze([...EVERYWHERE_PATTERNS, ...UNIX_PATTERNS, ...WINDOWS_PATTERNS]
    .map((pattern) => Object.freeze(pattern)))

export type CommandClassifier = (text: string) => CommandClassification

const SAFE: CommandClassification = Object.freeze({ severity: 'safe', matchedRules: Object.freeze([]) })

const OPTIONS = {
  patterns: forms.list(
    forms.whole({ id: forms.text, pattern: forms.text, severity: forms.oneOf(...COMMAND_SEVERITIES) }),
  ),
}

/**
 * Takes time linear in the text: neither a command nor a pattern can block the host. Throws ConfigInvalid for an
 * invalid list of patterns, and for a pattern that cannot be compiled.
 */
export function createCommandClassifier(
  patterns: readonly CommandSafetyPattern[] = COMMAND_SAFETY_PATTERNS,
): CommandClassifier {
  requireOptions('createCommandClassifier', { patterns }, OPTIONS)
  const rules = patterns.map((rule) => ({ rule, found: compilePattern(rule) }))
  let any: RE2JS | undefined
  return (text) => {
    if (text.length > LONG_CHARS && !(any ??= compileAll(patterns)).test(text)) return SAFE
    const matchedRules = rules.filter(({ found }) => found.test(text)).map(({ rule }) => rule)
    return matchedRules.length === 0 ? SAFE : { severity: worst(matchedRules), matchedRules }
  }
}

/**
 * A longer text is first tested with one pattern for all rules. That takes a fifth of the time, but 0.3 s once to
 * compile it.
 */
const LONG_CHARS = 16 * 1024

/** A flag that a pattern sets ends with its group. */
const compileAll = (patterns: readonly CommandSafetyPattern[]): RE2JS =>
  re2js().RE2JS.compile(patterns.map(({ pattern }) => `(?:${pattern})`).join('|') || NEVER)

const NEVER = '[^\\s\\S]'

const worst = (rules: readonly CommandSafetyPattern[]): CommandSeverity =>
  rules.some(({ severity }) => severity === 'critical') ? 'critical' : 'warning'

type Compiled = { readonly pattern: string } & ({ readonly found: RE2JS } | { readonly fault: string })

/** A configuration is compiled to report its faults and to use it; this keeps the result. */
const compiledPatterns = new WeakMap<CommandSafetyPattern, Compiled>()

function tryCompile(rule: CommandSafetyPattern): Compiled {
  const { id, pattern } = rule
  const known = compiledPatterns.get(rule)
  if (known?.pattern === pattern) return known
  let tried: Compiled
  try {
    tried = { pattern, found: re2js().RE2JS.compile(pattern) }
  } catch (thrown) {
    tried = { pattern, fault: `The pattern of "${id}" is not a regular expression of RE2: ${messageOf(thrown)}.` }
  }
  compiledPatterns.set(rule, tried)
  return tried
}

function compilePattern(rule: CommandSafetyPattern): RE2JS {
  const tried = tryCompile(rule)
  if ('fault' in tried) throw new BulkheadError('ConfigInvalid', tried.fault)
  return tried.found
}

/** Why a pattern cannot be used, or undefined. */
function patternFault(rule: CommandSafetyPattern): string | undefined {
  const tried = tryCompile(rule)
  return 'fault' in tried ? tried.fault : undefined
}

type Level = 'off' | CommandSafetyPattern['severity']
const LEVELS: readonly Level[] = ['off', 'warning', 'critical']
const stricter = (one: Level, other: Level): Level => LEVELS.indexOf(one) > LEVELS.indexOf(other) ? one : other

/** The built-in watchdog: compares the commands of a call with patterns. */
export interface CommandSafety {
  /** Each matching rule once, critical ones first. */
  check(args: JsonObject): readonly CommandSafetyPattern[]
}

/**
 * Configured by the layers, or undefined if it is disabled. The operator may loosen it; the machine and a project,
 * which may be third-party, can only tighten it. A pattern that cannot be compiled matches every command.
 */
export function commandSafetyOf(layers: readonly LayerConfig[]): CommandSafety | undefined {
  const known = compiled.get(layers)
  if (known) return known.wanted
  const wanted = compile(layers)
  compiled.set(layers, { wanted })
  return wanted
}

/** Compiled once for each configuration, not for each session. */
const compiled = new WeakMap<readonly LayerConfig[], { readonly wanted: CommandSafety | undefined }>()

function compile(layers: readonly LayerConfig[]): CommandSafety | undefined {
  const configured = (tightens: boolean) => layers
    .filter(({ layer }) => (layer === 'project' || layer === 'machine') === tightens)
    .flatMap(({ config }) => config.watchdogs?.commandSafety ?? [])
  const [trusted, project] = [configured(false), configured(true)]
  const enabled = trusted.findLast((config) => config.enabled !== undefined)?.enabled ?? true
  if (!enabled && !project.some((config) => config.enabled === true)) return undefined
  const own = [...trusted, ...project].flatMap(({ patterns = [] }) => patterns)
    .map((rule) => patternFault(rule) === undefined ? rule : { ...rule, pattern: '' })
  const levels = levelsOf(trusted, project)
  const patterns = [...COMMAND_SAFETY_PATTERNS, ...own].flatMap((pattern) => {
    const severity = levels(pattern)
    if (severity === 'off') return []
    return severity === pattern.severity ? [pattern] : [{ ...pattern, severity }]
  })
  const adapted = own.length > 0 || [...trusted, ...project].some(({ severity }) => severity !== undefined)
  return screening(adapted ? createCommandClassifier(patterns) : builtIn)
}

/** The faults of the patterns in a configuration. */
export function patternDiagnostics(layers: readonly LayerConfig[]): readonly Diagnostic[] {
  return layers.flatMap(({ layer, location, config }) =>
    (config.watchdogs?.commandSafety?.patterns ?? []).flatMap((rule, index): readonly Diagnostic[] => {
      const fault = patternFault(rule)
      return fault === undefined ? [] : [{
        severity: 'error', stage: 'configSchema', code: 'ConfigInvalid',
        layer: diagnosticLayer(layer), extensionId: null, location,
        path: `/watchdogs/commandSafety/patterns/${index}/pattern`,
        message: `${fault} Until it is corrected, it matches every command.`, cure: ERRORS.ConfigInvalid.cure,
      }]
    }))
}

function levelsOf(
  trusted: readonly CommandSafetyConfig[], project: readonly CommandSafetyConfig[],
): (pattern: CommandSafetyPattern) => Level {
  const set = new Map(trusted.flatMap(({ severity = {} }) => Object.entries(severity)))
  const raised = project.flatMap(({ severity = {} }) => Object.entries(severity))
  return ({ id, severity }) => raised.filter(([name]) => name === id)
    .reduce((level, [, wanted]) => stricter(level, wanted), set.get(id) ?? severity)
}

let shipped: CommandClassifier | undefined
/** Compiled once, for the first command. */
const builtIn: CommandClassifier = (text) => {
  shipped ??= createCommandClassifier()
  return shipped(text)
}

/** Arguments that cannot be checked count as critical. */
const TOO_MANY_WORDS: CommandSafetyPattern = {
  id: 'too-many-words', label: 'Too many strings to check', category: 'availability', severity: 'critical',
  platform: 'all', pattern: '',
  description: 'The arguments hold so many strings and lists that their commands cannot be checked.',
}

const screening = (classify: CommandClassifier): CommandSafety => ({
  check(args) {
    const texts = commandTexts(args)
    if (texts === undefined) return [TOO_MANY_WORDS]
    const rules = new Set([...texts].flatMap((text) => classify(text).matchedRules))
    return [...rules].toSorted((a, b) => LEVELS.indexOf(b.severity) - LEVELS.indexOf(a.severity))
  },
})

/** How many characters all command lines may have together: each string may be the program of each list. */
const MAX_LINE_CHARS = 1024 * 1024

/**
 * Every string in the arguments that a shell may run: each string, and the joined words of each list. Which argument a
 * third-party tool runs is not known, so all of them are checked. Returns undefined if there are too many combinations.
 */
export function commandTexts(args: JsonObject): ReadonlySet<string> | undefined {
  const found = new CommandTexts()
  found.collect(args)
  return found.lineChars > MAX_LINE_CHARS ? undefined : found.texts
}

class CommandTexts {
  readonly texts = new Set<string>()
  lineChars = 0

  collect(value: Json): void {
    if (typeof value === 'string') {
      this.texts.add(value)
    } else if (Array.isArray(value)) {
      const words = wordsOf(value)
      if (words.length > 1) this.texts.add(words.join(' '))
      for (const member of value as readonly Json[]) this.collect(member)
    } else if (isJsonObject(value)) {
      const members = Object.values(value)
      this.#addLines(members)
      for (const member of members) this.collect(member)
    }
  }

  /** A program beside the list of its arguments, whatever their names. */
  #addLines(members: readonly Json[]): void {
    const programs = members.filter((member) => typeof member === 'string')
    const words = members.flatMap(wordsOf)
    if (programs.length === 0 || words.length === 0) return
    const list = words.join(' ')
    this.lineChars += programs.length * list.length
    if (this.lineChars > MAX_LINE_CHARS) return
    for (const program of programs) this.texts.add(`${program} ${list}`)
  }
}

const wordsOf = (list: Json): readonly string[] =>
  Array.isArray(list) ? (list as readonly Json[]).filter((word) => typeof word === 'string') : []
