import { z } from 'zod'
import { REFUSED_VARIABLES, refusedVariable } from '../model/command-variables.ts'
import { envName } from './fields.ts'

const variable = envName.refine((name) => refusedVariable(name) === undefined, {
  error: ({ input }) => refusedVariable(String(input)),
}).meta({ not: { type: 'string', pattern: REFUSED_VARIABLES.join('|') } })

const path = z.string().max(1024).regex(
  /^(?!.*(?:^|\/)\.\.(?:\/|$))(?:~|~\/[^*\0]+|\/[^*\0/][^*\0]*)$/,
  'a folder or file such as ~/.pyenv or /srv/data, without wildcards',
)

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
})
