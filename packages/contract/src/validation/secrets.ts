import { z } from 'zod'
import { ENV_NAME_PATTERN } from '../model/names.ts'
import { hostCovers } from '@bulkhead/kit/hosts'
import type { RequirementSet } from '../policy/requirements.ts'
import { commandName, hostPattern } from '../policy/requirements.ts'

/**
 * A value that code may use without seeing it: it holds a handle, and the host puts the value in its place on the way to
 * one of these hosts or commands. Nowhere else is a handle more than a text.
 */
export const secretManifest = z.strictObject({
  name: z.string().regex(ENV_NAME_PATTERN, 'the name of an environment variable')
    .describe('Name of the environment variable that holds the secret, on the side of the host.'),
  hosts: z.array(hostPattern).min(1).max(16).optional()
    .describe('Hosts it may be sent to in a header. Each lies within the hosts of a tool.'),
  commands: z.array(commandName).min(1).max(16).optional()
    .describe('Commands it may be given to in an argument or as input. Each is a command of a tool.'),
})
export type SecretManifest = z.output<typeof secretManifest>

interface Declaring {
  readonly env: readonly string[]
  readonly secrets: readonly SecretManifest[]
  readonly tools: readonly { readonly requires: RequirementSet }[]
}

/** What one secret alone cannot tell: its name is its own, and it goes nowhere that no tool may reach. */
export function refuseStraySecrets({ env, secrets, tools }: Declaring, context: z.RefinementCtx): void {
  // A name that is no host is not also one that nobody may reach.
  if (context.issues.length > 0) return
  const hosts = tools.flatMap(({ requires }) => requires.net?.hosts ?? [])
  const commands = new Set(tools.flatMap(({ requires }) => requires.shell ?? []).map(({ cmd }) => cmd))
  const names = new Set<string>()
  secrets.forEach((secret, index) => {
    const refuse = (message: string, ...path: (string | number)[]): void =>
      context.addIssue({ code: 'custom', path: ['secrets', index, ...path], message })
    if (names.has(secret.name)) refuse(`another secret of this manifest is called ${secret.name} too`, 'name')
    if (env.includes(secret.name)) {
      refuse(`${secret.name} is in env too, where its value can be read: name it in one of them`, 'name')
    }
    names.add(secret.name)
    if (secret.hosts === undefined && secret.commands === undefined) refuse('a secret names hosts or commands it may be used for')
    secret.hosts?.forEach((host, at) => {
      if (!hosts.some((wide) => hostCovers(wide, host))) refuse(`no tool of this manifest may reach ${host}`, 'hosts', at)
    })
    secret.commands?.forEach((command, at) => {
      if (!commands.has(command)) refuse(`no tool of this manifest may run ${command}`, 'commands', at)
    })
  })
}
