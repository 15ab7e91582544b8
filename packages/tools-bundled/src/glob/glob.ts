import { defineTool } from '@bulkhead/contract'
import { ALL_FILES } from '../model/bundled-extension.ts'
import { leftOutWords } from '../model/left-out.ts'
import { pathKey, pathReader, refuseHome, stringOr } from '../model/paths.ts'

/** As many as an operator may show to a model. All of them are saved to a file. */
const LIMIT = 10_000

export const tool = defineTool({
  label: 'Find files',
  description: 'Finds files by a glob pattern, newest first. Files listed in ignore files are left out, unless the '
    + 'pattern begins with their folder. Returns at most 1000 paths, and of more the `last` ones, too. `total` is the '
    + 'number of all matches, and `left_out` of those that rules deny or ask about. A file has all of them, one in a '
    + 'line.',
  input: {
    type: 'object',
    properties: {
      pattern: {
        type: 'string', minLength: 1, maxLength: 1024,
        description: 'For example **/*.ts or src/*.{js,jsx}. * and ? do not match a slash, ** does. {a,b} and [ab] match '
          + 'one of several.',
      },
      path: { type: 'string', minLength: 1, description: 'The folder to search. Default: the workspace.' },
    },
    required: ['pattern'],
    additionalProperties: false,
  },
  requires: { fs: { read: [...ALL_FILES] } },
  gated: true,
  mode: 'read',
  kind: 'search',
  idempotent: true,
  maxEntries: 1000,
  maxOutput: '256KB',
  async execute(args, { fs }) {
    refuseHome(args.path)
    refuseHome(args.pattern)
    const { pattern, path } = splitPattern(args.pattern, args.path)
    const { paths, total, last, leftOut } = await fs.find(pattern, { path, limit: LIMIT, save: true })
    return { paths, total, ...(last && { last }), ...leftOutWords(leftOut) }
  },
  deriveApprovalKey: (args) => pathKey(splitPattern(args.pattern, args.path).path),
})

export interface SplitPattern {
  readonly pattern: string
  readonly path: string
}

/** Splits an absolute pattern into a folder and a relative pattern. */
export function splitPattern(pattern: string, path = '.'): SplitPattern {
  if (!pattern.startsWith('/')) return { pattern, path }
  const names = pattern.split('/').filter((name) => name !== '')
  const wild = names.findIndex((name) => /[*?[{]/.test(name))
  const folders = Math.max(0, wild < 0 ? names.length - 1 : wild)
  return { path: `/${names.slice(0, folders).join('/')}`, pattern: names.slice(folders).join('/') || '*' }
}

export const readArguments = pathReader(({ pattern, path }) => ({
  path: splitPattern(stringOr(pattern), stringOr(path, '.')).path,
  verb: 'read the names below', isFolder: true, reads: true, needs: ['fs.read'],
}))
