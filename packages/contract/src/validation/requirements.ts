import { hostCovers } from '@bulkhead/kit/hosts'
import { z } from 'zod'
import { ANY_COMMAND, CAPABILITY_NAMES, HEADER_NAME_PATTERN } from '../model/names.ts'
import { commandName, envName, hostPattern } from './fields.ts'

const pathPattern = z.string().min(1).max(1024)
  .describe(
    'A path pattern. It starts with {workspace}, {ad-hoc} or {user-data}, or is relative to {workspace}; * stays '
    + 'inside one folder name, ** crosses folders.',
  )
/** They frame or route a message, or carry credentials. */
const RESERVED_HEADER =
  /^(?:host|connection|te|trailer|upgrade|expect|via|cookie|authorization|(?:keep|content|transfer|proxy|accept|http2)-.*)$/i
const argPattern = z.union([
  z.string().max(4096).describe('Exactly this argument.'),
  z.strictObject({ wildcard: z.literal(true).describe('Any value.') }).describe('Any one argument.'),
  z.strictObject({ prefix: z.string().min(1).max(4096).describe('How the argument starts.') })
    .describe('An argument with this prefix.'),
  z.strictObject({ rest: z.literal(true).describe('Any values.') })
    .describe('Any number of arguments; the last pattern only.'),
])
const isRest = (pattern: z.infer<typeof argPattern>): boolean => typeof pattern === 'object' && 'rest' in pattern
const shellRequirement = z.strictObject({
  cmd: z.union([commandName, z.literal(ANY_COMMAND)])
    .describe('Name of an executable, without a path; * for every executable.'),
  args: z.array(argPattern).max(64)
    .refine((args) => !args.slice(0, -1).some(isRest), '{ rest } only as the last pattern')
    .optional().describe('Patterns of the arguments, in order. Absent: no arguments.'),
})

const netHosts = z.array(hostPattern).max(64).optional()
  .describe('Host names. A leading *. matches every subdomain, a trailing :port one port.')

/** What a tool, an agent or a ceiling may do. */
export const powerSet = z.strictObject({
  fs: z.strictObject({
    read: z.array(pathPattern).max(64).optional().describe('What the tool may read.'),
    write: z.array(pathPattern).max(64).optional()
      .describe(
        'What the tool may write, create and remove. A pattern must name `.git`, start-up files of shells and the '
        + 'folders of editors to include them.',
      ),
  }).optional().describe('Files and folders.'),
  net: z.strictObject({ hosts: netHosts }).optional().describe('Hosts that the tool may reach.'),
  shell: z.array(shellRequirement).max(64).optional().describe('Commands that the tool may run, without a shell.'),
  capabilities: z.array(z.enum(CAPABILITY_NAMES)).max(CAPABILITY_NAMES.length).optional().describe('Further powers.'),
})

/** What a tool needs. It gets nothing else. */
export const requirementSet = powerSet.extend({
  net: z.strictObject({
    hosts: netHosts,
    idempotencyHeader: z.string().regex(HEADER_NAME_PATTERN, 'the name of a header, such as Idempotency-Key').refine(
      (name) => !RESERVED_HEADER.test(name), 'this header is for the host or for credentials; use one such as Idempotency-Key',
    ).optional().describe(
      'The header, such as Idempotency-Key, in which the host sends the idempotency key of the call with requests '
      + 'other than GET and HEAD. The code cannot set it.',
    ),
  }).optional().describe('Hosts that the tool may reach.'),
})
export type RequirementSet = z.infer<typeof requirementSet>
export type ShellRequirement = z.infer<typeof shellRequirement>
export type ArgPattern = z.infer<typeof argPattern>

const names = z.array(envName).max(64)
/** The most that a tool may get. Anything else is not granted. */
export const ceilingSet = powerSet.extend({
  env: names.optional().describe('Environment variables that may be read.'),
  secrets: names.optional().describe('Secrets that may be used, each for the hosts and commands of this ceiling.'),
  state: z.boolean().optional().describe('Whether extensions may keep state.'),
})
export type Ceiling = z.infer<typeof ceilingSet>

/**
 * A value that code uses without seeing it: the code has a handle, and the host inserts the value for these hosts or
 * commands only.
 */
export const secretManifest = z.strictObject({
  name: envName.describe('Name of the host\'s environment variable that holds the secret.'),
  hosts: z.array(hostPattern).min(1).max(16).optional()
    .describe('Hosts that may receive it in a header or a query. A tool must declare each of them.'),
  commands: z.array(commandName).min(1).max(16).optional()
    .describe('Commands that may receive it in an argument or as input. A tool must declare each of them.'),
})
export type SecretManifest = z.output<typeof secretManifest>

interface Declaring {
  readonly env: readonly string[]
  readonly secrets: readonly SecretManifest[]
  readonly tools: readonly { readonly requires: RequirementSet }[]
}

/** Rejects a secret whose name is taken, or that may go where no tool may. */
export function checkSecrets({ env, secrets, tools }: Declaring, context: z.RefinementCtx): void {
  // An invalid host would be reported a second time as unreachable.
  if (context.issues.length > 0) return
  const hosts = tools.flatMap(({ requires }) => requires.net?.hosts ?? [])
  const commands = new Set(tools.flatMap(({ requires }) => requires.shell ?? []).map(({ cmd }) => cmd))
  const known = new Set<string>()
  secrets.forEach((secret, index) => {
    const refuse = (message: string, ...path: (string | number)[]): void =>
      context.addIssue({ code: 'custom', path: ['secrets', index, ...path], message })
    if (known.has(secret.name)) refuse(`another secret of this manifest has the name ${secret.name}`, 'name')
    if (env.includes(secret.name)) {
      refuse(`${secret.name} is also in env, which makes its value readable: keep one of the two`, 'name')
    }
    known.add(secret.name)
    if (secret.hosts === undefined && secret.commands === undefined) refuse('a secret needs hosts or commands')
    secret.hosts?.forEach((host, at) => {
      const isCovered = hosts.some((wide) => hostCovers(wide, host))
      if (!isCovered) refuse(`no tool of this manifest may reach ${host}`, 'hosts', at)
    })
    secret.commands?.forEach((command, at) => {
      if (!commands.has(command)) refuse(`no tool of this manifest may run ${command}`, 'commands', at)
    })
  })
}
