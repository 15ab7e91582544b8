import { BulkheadError } from '../model/errors.ts'
import {
  ANY_COMMAND, isLockedTool, REQUIREMENT_VARIABLES, type CapabilityName, type RequirementVariable,
  type ToolEffects, type ToolMode,
} from '../model/names.ts'
import { LOCKED_MODES } from '../model/tool-names.ts'
import type { ArgPattern, RequirementSet, ShellRequirement } from '../validation/requirements.ts'
import { namesSensitiveFiles } from './sensitive-files.ts'

/** The values of each variable. A variable with an empty list matches nothing. */
export type VariableValues = Readonly<Partial<Record<RequirementVariable, readonly string[]>>>

const known: ReadonlySet<string> = new Set(REQUIREMENT_VARIABLES)

/**
 * Whose patterns may be absolute. `server`: the entry of a local server, which the user writes. A manifest is written
 * by a third party and names variables only.
 */
export type PatternSource = 'manifest' | 'server'

const isAbsolute = (pattern: string, source: PatternSource): boolean => source === 'server' && pattern.startsWith('/')

/** Throws RequirementInvalid for an unknown variable and for a path that leaves it. */
function splitPattern(pattern: string): { readonly variable: RequirementVariable; readonly rest: string } {
  const match = /^\{([^{}]*)\}(?:\/(.*))?$/s.exec(pattern)
  const variable = match ? match[1]! : 'workspace'
  const rest = match ? (match[2] ?? '') : pattern
  if (!known.has(variable)) {
    const names = REQUIREMENT_VARIABLES.map((name) => `{${name}}`).join(', ')
    throw invalid(pattern, `uses the unknown variable {${variable}}; known are ${names}.`)
  }
  if (/[{}\0\\]/.test(rest) || rest.startsWith('/') || rest.split('/').includes('..')) {
    throw invalid(pattern, 'must stay below its variable: no braces, backslashes, "..", or absolute paths.')
  }
  const parts = rest.split('/').filter((part) => part !== '' && part !== '.')
  return { variable: variable as RequirementVariable, rest: parts.join('/') }
}

const invalid = (pattern: string, fault: string): BulkheadError =>
  new BulkheadError('RequirementInvalid', `The path pattern "${pattern}" ${fault}`, { data: { pattern } })

/**
 * One spelling for all ways to write a path pattern, so that two patterns can be compared. Throws RequirementInvalid.
 */
export function canonicalPattern(pattern: string): string {
  const { variable, rest } = splitPattern(pattern)
  return rest === '' ? `{${variable}}` : `{${variable}}/${rest}`
}

/**
 * Checks every pattern without values, so that a mistake is found when the manifest is read. Throws RequirementInvalid.
 */
export function checkRequirements(requires: RequirementSet, source: PatternSource = 'manifest'): void {
  for (const pattern of [...(requires.fs?.read ?? []), ...(requires.fs?.write ?? [])]) {
    if (!isAbsolute(pattern, source)) splitPattern(pattern)
    else if (pattern.split('/').includes('..')) throw invalid(pattern, 'must not contain "..".')
  }
}

/**
 * Replaces the variable by each of its values. Without a value the result is empty, so calls fail closed. `root` is the
 * part of the path that is the value: a `*` in it is an ordinary character.
 */
export function expandPattern(
  pattern: string, values: VariableValues, source: PatternSource = 'manifest',
): readonly { readonly root: string; readonly path: string }[] {
  if (isAbsolute(pattern, source)) return [{ root: pattern.replace(/\/\*\*$/, ''), path: pattern }]
  const { variable, rest } = splitPattern(pattern)
  return (values[variable] ?? []).map((root) =>
    ({ root, path: rest === '' ? root : `${root === '/' ? '' : root}/${rest}` }))
}

/** What all tools of an extension get: variables and secrets of the host. */
export interface SharedPowers {
  readonly env?: readonly unknown[]
  readonly secrets?: readonly unknown[]
  /** Of an extension that runs in a compartment: all of its tools, and the state that they share. */
  readonly tools?: readonly { readonly requires: RequirementSet }[]
  readonly stateSlot?: unknown
}

/** Whether an extension can do nothing but answer: it runs in a compartment, and no tool of it requires anything. */
function isPowerless({ tools, stateSlot, env = [], secrets = [] }: SharedPowers): boolean {
  return tools !== undefined && (stateSlot ?? null) === null && env.length + secrets.length === 0
    && tools.every(({ requires: { fs, net, shell, capabilities } }) =>
      [fs?.read, fs?.write, net?.hosts, shell, capabilities].every((list) => (list?.length ?? 0) === 0))
}

/**
 * Whether a tool with these requirements can change or reach anything, or learn what no one shows it: variables,
 * secrets, and files with credentials. Such a tool is always gated.
 */
export function hasEffects(requires: RequirementSet, extension: SharedPowers = {}): boolean {
  return mayChange(requires, extension) || (requires.fs?.read ?? []).some(namesSensitiveFiles)
}

/** Whether a tool with these requirements can do more than read files, ask, and keep notes for its session. */
export const mayChange = (requires: RequirementSet, extension: SharedPowers = {}): boolean =>
  !hasNoMoreThanFiles(requires, extension, ['interact', 'session'])

/** Whether a tool requires nothing but to read files. */
const onlyReads = (requires: RequirementSet, extension: SharedPowers): boolean =>
  hasNoMoreThanFiles(requires, extension, [])

/** `harmless`: the capabilities that it may have. */
function hasNoMoreThanFiles(
  { fs, net, shell, capabilities = [] }: RequirementSet, { env, secrets }: SharedPowers,
  harmless: readonly CapabilityName[],
): boolean {
  return [fs?.write, net?.hosts, shell, env, secrets].every((list) => (list?.length ?? 0) === 0)
    && capabilities.every((name) => harmless.includes(name))
}

const NAME_PATTERNS: readonly (readonly [RegExp, ToolMode])[] = [
  [/^(?:get|list|read|search)_/, 'read'],
  [/^(?:create|update|add|set)_/, 'safe_write'],
  [/^(?:delete|remove|archive|drop)_/, 'destructive'],
  [/^(?:local|shell|exec)_/, 'local'],
]

/**
 * The declared mode, else `read` for an ungated tool without powers, else by name, else by requirements, else `local`,
 * which asks. `read` counts only for a tool that
 * requires no more than to read files: neither the manifest of a package nor a name can hide powers.
 */
export function classifyToolMode(tool: {
  readonly name: string; readonly mode?: ToolMode | undefined; readonly requires?: RequirementSet | undefined
  readonly gated?: boolean
}, extension: SharedPowers = {}): ToolMode {
  const requires = tool.requires ?? {}
  const reads = onlyReads(requires, extension)
  const counts = (mode: ToolMode | undefined): mode is ToolMode => mode !== undefined && (mode !== 'read' || reads)
  if (counts(tool.mode)) return tool.mode
  if (isLockedTool(tool.name)) return LOCKED_MODES[tool.name]
  if (tool.gated === false && isPowerless(extension)) return 'read'
  const named = NAME_PATTERNS.find(([pattern]) => pattern.test(tool.name))?.[1]
  if (counts(named)) return named
  if (requires.shell?.length || requires.fs?.write?.length) return 'local'
  if (requires.capabilities?.includes('tools.call')) return 'local'
  if (requires.net?.hosts?.length) return 'external'
  return reads && requires.fs?.read?.length ? 'read' : 'local'
}

/** With these, a tool that reads can have effects: by other tools, or on what the session keeps. */
const MAY_HAVE_EFFECTS: ReadonlySet<CapabilityName> = new Set(['tools.call', 'session'])

/** Where a tool comes from, as far as its effects depend on it. */
export interface EffectsSource extends Pick<SharedPowers, 'stateSlot'> {
  /** It runs in a compartment, so that it can do no more than it requires. */
  readonly isConfined: boolean
  /** The host or a bridge of it wrote the manifest. */
  readonly isTrusted: boolean
  readonly mode: ToolMode
}

/**
 * The declared effects. `none` counts only for a tool that cannot write, or whose manifest is trusted; of one that
 * reaches hosts, the host then allows requests with GET and HEAD only. Default: `none` for a tool in a compartment that
 * requires no more than to read files, and for one of the host that only reads; else `once`.
 */
export function classifyEffects(
  { effects, idempotent, requires = {} }: {
    readonly effects?: ToolEffects | undefined; readonly idempotent?: boolean
    readonly requires?: RequirementSet | undefined
  },
  { isConfined, isTrusted, mode, stateSlot }: EffectsSource,
): ToolEffects {
  const keepsState = (stateSlot ?? null) !== null
  if (effects === 'none') {
    const { net: _, ...others } = requires
    return isTrusted || (!keepsState && hasNoMoreThanFiles(others, {}, ['interact'])) ? 'none' : 'once'
  }
  if (effects !== undefined) return effects
  const reads = isTrusted ? mode === 'read' && !(requires.capabilities ?? []).some((name) => MAY_HAVE_EFFECTS.has(name))
    : isConfined && !keepsState && onlyReads(requires, {})
  if (reads) return 'none'
  return idempotent ? 'idempotent' : 'once'
}

/** Whether a call may be repeated whatever it has done. */
export const isRepeatable = (effects: ToolEffects): boolean => effects === 'none' || effects === 'idempotent'

/** Whether a command allows these arguments. */
export function matchArguments(patterns: readonly ArgPattern[] | undefined, args: readonly string[]): boolean {
  const [fixed, open] = fixedArguments(patterns)
  if (open ? args.length < fixed.length : args.length !== fixed.length) return false
  return fixed.every((pattern, index) => argCovers(pattern, args[index]!))
}

/** Whether every command that `narrow` allows is allowed by `wide`. */
export function shellCovers(wide: ShellRequirement, narrow: ShellRequirement): boolean {
  if (wide.cmd !== narrow.cmd && wide.cmd !== ANY_COMMAND) return false
  const [wideArgs, wideOpen] = fixedArguments(wide.args)
  const [narrowArgs, narrowOpen] = fixedArguments(narrow.args)
  if (wideOpen ? narrowArgs.length < wideArgs.length : narrowOpen || narrowArgs.length !== wideArgs.length) return false
  return wideArgs.every((pattern, index) => argCovers(pattern, narrowArgs[index]!))
}

/** Whether some command could match both. */
export function commandsOverlap(a: ShellRequirement, b: ShellRequirement): boolean {
  if (a.cmd !== b.cmd && a.cmd !== ANY_COMMAND && b.cmd !== ANY_COMMAND) return false
  const [aArgs, aOpen] = fixedArguments(a.args)
  const [bArgs, bOpen] = fixedArguments(b.args)
  if ((!aOpen && bArgs.length > aArgs.length) || (!bOpen && aArgs.length > bArgs.length)) return false
  return aArgs.slice(0, bArgs.length).every((pattern, index) =>
    argCovers(pattern, bArgs[index]!) || argCovers(bArgs[index]!, pattern))
}

/** A command as a pattern: `*` is any one argument, `…` any number. */
export const commandText = ({ cmd, args = [] }: ShellRequirement): string => [cmd, ...args.map(argumentText)].join(' ')

function argumentText(arg: ArgPattern): string {
  if (typeof arg === 'string') return arg
  return 'prefix' in arg ? `${arg.prefix}*` : 'rest' in arg ? '…' : '*'
}

/** The patterns before `{ rest }`, and whether there is one. */
function fixedArguments(args: readonly ArgPattern[] = []): readonly [fixed: readonly ArgPattern[], open: boolean] {
  const last = args.at(-1)
  return typeof last === 'object' && 'rest' in last ? [args.slice(0, -1), true] : [args, false]
}

function argCovers(wide: ArgPattern, narrow: ArgPattern): boolean {
  if (typeof wide === 'string') return wide === narrow
  if (!('prefix' in wide)) return true
  if (typeof narrow === 'string') return narrow.startsWith(wide.prefix)
  return 'prefix' in narrow && narrow.prefix.startsWith(wide.prefix)
}
