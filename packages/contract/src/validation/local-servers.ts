import { z } from 'zod'
import { envName } from './fields.ts'
import { hostKey } from './keys.ts'
import { powerSet } from './requirements.ts'

const jailedPath = z.string().max(1024).regex(
  /^(?!\/*(?:\*\*)?$)[^*\0]+?(?:\/\*\*)?$/,
  'a folder or file without wildcards, such as {workspace}, {workspace}/docs or /srv/data',
).describe('A folder with everything below it, or a file. It starts with {workspace} or {user-data}, or is absolute.')
const jailedPaths = z.array(jailedPath).max(64)

const serverRequires = z.strictObject({
  fs: z.strictObject({
    read: jailedPaths.optional().describe('What the server may read.'),
    write: jailedPaths.optional().describe('What the server may read and write.'),
  }).optional().describe('Folders and files. Default: {workspace} for reading.'),
  net: powerSet.shape.net.describe('Hosts that the server may reach, through a proxy. Default: none.'),
})

/** A server that runs as a process on this machine. */
export const localServer = z.strictObject({
  command: z.array(z.string()).min(1).describe('The executable and its arguments.'),
  env: z.array(envName).optional()
    .describe(
      'Names of environment variables that the process gets, besides those for programs, settings and language.',
    ),
  keys: z.record(envName, hostKey).optional()
    .describe(
      'Keys that the process uses and never sees, by the names of their variables. It may reach their hosts, and gets '
      + 'placeholders, which are replaced on the way.',
    ),
  requires: serverRequires.optional().describe('What the process may use inside its jail.'),
  jail: z.union([z.boolean(), z.literal('files')]).optional().describe(
    'false starts the process without a jail, with all rights of the user. "files" confines its files, and gives it the '
      + 'whole network where the system cannot limit it to its hosts. Default: true.',
  ),
})

const suffix = z.string().max(32).regex(/^\.[^/\0*?]+$/, 'the end of a file name, such as .ts')

export const languageServer = z.strictObject({
  ...localServer.shape,
  suffixes: z.array(suffix).min(1).max(64).optional()
    .describe('Ends of the names of the files that it understands, such as .ts. Default: known for common servers.'),
  enabled: z.boolean().optional().describe('Whether it is used.'),
})

export type LocalServerConfig = z.output<typeof localServer>
/** One language server. */
export type LanguageServerConfig = z.output<typeof languageServer>
