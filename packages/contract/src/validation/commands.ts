import { z } from 'zod'
import { isUsualVariable, namedTwice, REFUSED_VARIABLES, refusedVariable } from '../model/command-variables.ts'
import { carriesKeys } from '../model/keys.ts'
import { envName } from './fields.ts'
import { hostKey } from './keys.ts'

const variable = envName.refine((name) => refusedVariable(name) === undefined, {
  error: ({ input }) => refusedVariable(String(input)),
}).meta({ not: { type: 'string', pattern: REFUSED_VARIABLES.join('|') } })

const path = z.string().max(1024).regex(
  /^(?!.*(?:^|\/)\.\.(?:\/|$))(?:~|~\/[^*\0]+|\/[^*\0/][^*\0]*)$/,
  'a folder or file such as ~/.pyenv or /srv/data, without wildcards',
)

const keyName = variable.refine((name) => !isUsualVariable(name), {
  error: ({ input }) => `${String(input)} says how to reach the network or in which language to write, and holds no key`,
})
const key = hostKey.refine(({ header }) => carriesKeys(header), {
  path: ['header'], error: 'this header cannot carry a key; use another one',
})

/** What commands see and get. For the configuration of a user, a machine or an embedder; a project has no say. */
export const commands = z.strictObject({
  read: z.array(path).max(64).exactOptional()
    .describe(
      'Files and folders that commands in the sandbox may read, besides the workspace, the system and the folders of '
      + 'programs on PATH. ~ is the home folder.',
    ),
  env: z.strictObject({
    pass: z.array(variable).max(64).exactOptional()
      .describe(
        'Names of environment variables that commands get, besides those for programs, proxies, certificates and '
        + 'language.',
      ),
    set: z.record(variable, z.string().max(8192).regex(/^[^\0]*$/, 'a string without NUL')).exactOptional()
      .describe('Environment variables of commands, by name.'),
  }).exactOptional().describe('The environment of commands.'),
  keys: z.record(keyName, key).exactOptional()
    .describe(
      'Keys that commands of bash use and never see, by the names of their variables. A command that reaches the host '
      + 'of a key behind the wall work gets a placeholder, which is replaced on the way. Others get nothing.',
    ),
}).superRefine((all, context) => {
  const refuse = (...place: (string | number)[]): void =>
    context.addIssue({ code: 'custom', path: place, message: 'a variable is in env or in keys, not in both' })
  for (const name of namedTwice(all)) {
    refuse('keys', name)
    all.env?.pass?.forEach((one, at) => { if (one === name) refuse('env', 'pass', at) })
    if (Object.hasOwn(all.env?.set ?? {}, name)) refuse('env', 'set', name)
  }
})
