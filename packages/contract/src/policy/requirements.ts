import { z } from 'zod'
import { BulkheadError } from '../model/bulkhead-error.ts'

/** Powers beyond files, hosts and commands. `state`, `env` and `secrets` follow from the manifest's own fields. */
export const CAPABILITY_NAMES = ['interact', 'tools.call', 'session'] as const

export const REQUIREMENT_VARIABLES = ['workspace', 'ad-hoc', 'user-data'] as const
export type RequirementVariable = (typeof REQUIREMENT_VARIABLES)[number]

const pathPattern = z.string().min(1).max(1024)
  .describe('A path pattern. It starts with {workspace}, {ad-hoc} or {user-data}, or is relative to {workspace}; * stays inside one folder name, ** crosses folders.')
export const hostPattern = z.string().min(1).max(253).regex(
  /^(?:\*|(?:\*\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/,
  'a host in lower case, such as api.example.com, *.example.com, localhost:8080, [::1]:8080, or * for every public name',
)
const argPattern = z.union([
  z.string().max(4096).describe('Exactly this argument.'),
  z.strictObject({ wildcard: z.literal(true).describe('Whatever it is.') }).describe('Any one argument.'),
  z.strictObject({ prefix: z.string().min(1).max(4096).describe('How it starts.') }).describe('An argument that starts so.'),
  z.strictObject({ rest: z.literal(true).describe('Whatever follows.') }).describe('Any number of arguments; the last pattern only.'),
])
const isRest = (pattern: z.infer<typeof argPattern> | undefined): boolean => typeof pattern === 'object' && 'rest' in pattern
export const commandName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$/, 'the bare name of an executable')
/** In the place of a command's name: every one that is installed. */
export const ANY_COMMAND = '*'
const shellRequirement = z.strictObject({
  cmd: z.union([commandName, z.literal(ANY_COMMAND)]).describe('Name of an executable, without a path; * for every one.'),
  args: z.array(argPattern).max(64).refine((args) => !args.slice(0, -1).some(isRest), '{ rest } stands at the end')
    .optional().describe('Patterns of the arguments, in order. Absent: no arguments.'),
})

/** What a tool needs of the world. Nothing that is not named here is given. */
export const requirementSet = z.strictObject({
  fs: z.strictObject({
    read: z.array(pathPattern).max(64).optional().describe('What may be read.'),
    write: z.array(pathPattern).max(64).optional().describe('What may be written, created and removed. A pattern must name `.git`, start-up files of shells and the folders of editors to include them.'),
  }).optional().describe('Files and folders.'),
  net: z.strictObject({
    hosts: z.array(hostPattern).max(64).optional().describe('Names of hosts, *. in front for everything below one, :port behind for one port.'),
  }).optional().describe('Hosts that may be reached.'),
  shell: z.array(shellRequirement).max(64).optional().describe('Commands that may be run, without a shell.'),
  capabilities: z.array(z.enum(CAPABILITY_NAMES)).max(CAPABILITY_NAMES.length).optional().describe('Powers not covered above.'),
})

export type RequirementSet = z.infer<typeof requirementSet>
export type ShellRequirement = z.infer<typeof shellRequirement>
export type ArgPattern = z.infer<typeof argPattern>
export type CapabilityName = (typeof CAPABILITY_NAMES)[number]

/** What each variable stands for. An empty list is a known variable with nothing behind it: it fails closed. */
export type VariableValues = Readonly<Partial<Record<RequirementVariable, readonly string[]>>>

const known: ReadonlySet<string> = new Set(REQUIREMENT_VARIABLES)

/** The variables a pattern names. Throws RequirementInvalid for a name that does not exist, and for `..` segments. */
function splitPattern(pattern: string): { readonly variable: RequirementVariable; readonly rest: string } {
  const match = /^\{([^{}]*)\}(?:\/(.*))?$/s.exec(pattern)
  const variable = match ? match[1]! : 'workspace'
  const rest = match ? (match[2] ?? '') : pattern
  if (!known.has(variable)) {
    throw new BulkheadError('RequirementInvalid', `The path pattern "${pattern}" uses the unknown variable {${variable}}; known are ${REQUIREMENT_VARIABLES.map((name) => `{${name}}`).join(', ')}.`, { data: { pattern } })
  }
  if (/[{}\0\\]/.test(rest) || rest.startsWith('/') || rest.split('/').includes('..')) {
    throw new BulkheadError('RequirementInvalid', `The path pattern "${pattern}" must stay below its variable: no braces, back-slashes, "..", or absolute paths.`, { data: { pattern } })
  }
  return { variable: variable as RequirementVariable, rest: rest.split('/').filter((part) => part !== '' && part !== '.').join('/') }
}

/** One spelling for every way to write a path pattern, its variable in front, so that two sets can be compared. Throws as above. */
export function canonicalPattern(pattern: string): string {
  const { variable, rest } = splitPattern(pattern)
  return rest === '' ? `{${variable}}` : `{${variable}}/${rest}`
}

/** Checks every pattern without needing values, so that a typing error is found when the manifest is read. */
export function checkRequirements(requires: RequirementSet): void {
  for (const pattern of [...(requires.fs?.read ?? []), ...(requires.fs?.write ?? [])]) splitPattern(pattern)
}

/**
 * A pattern with its variable replaced by each of its values. A variable without a value here yields nothing: the tool's calls
 * fail closed. A `*` in a value is a character of a name: `root` says how much of the path is the value.
 */
export function expandPattern(pattern: string, values: VariableValues): readonly { readonly root: string; readonly path: string }[] {
  const { variable, rest } = splitPattern(pattern)
  return (values[variable] ?? []).map((root) => ({ root, path: rest === '' ? root : `${root === '/' ? '' : root}/${rest}` }))
}

/** Whether a tool with these requirements can change or reach anything: such a tool is gated whatever it says. */
export function hasEffects(requires: RequirementSet): boolean {
  return (requires.fs?.write?.length ?? 0) > 0 || (requires.net?.hosts?.length ?? 0) > 0 || (requires.shell?.length ?? 0) > 0
    || (requires.capabilities ?? []).includes('tools.call')
}

export function matchArguments(patterns: readonly ArgPattern[] | undefined, args: readonly string[]): boolean {
  const wanted = patterns ?? []
  const fixed = isRest(wanted.at(-1)) ? wanted.slice(0, -1) : wanted
  if (fixed.length === wanted.length ? args.length !== fixed.length : args.length < fixed.length) return false
  return fixed.every((pattern, index) => matchArgument(pattern, args[index]!))
}

function matchArgument(pattern: ArgPattern, arg: string): boolean {
  if (typeof pattern === 'string') return pattern === arg
  return !('prefix' in pattern) || arg.startsWith(pattern.prefix)
}
