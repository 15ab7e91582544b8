import { defineTool, type FileReader, type FromJsonSchema } from '@bulkhead/contract'
import { leftOutWords } from '../model/left-out.ts'
import { pathKey, pathReader, refuseHome, stringOr } from '../model/paths.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    pattern: { type: 'string', minLength: 1, maxLength: 10000, description: 'A regular expression in ripgrep syntax.' },
    path: { type: 'string', minLength: 1, description: 'The folder or file to search. Default: the workspace.' },
    glob: {
      type: 'string', minLength: 1, maxLength: 1024,
      description: 'Search only files whose path matches, such as *.ts or src/**/*.{js,jsx}.',
    },
    type: {
      type: 'string', minLength: 1, maxLength: 64,
      description: 'Search only files of this type, such as ts, py or rust.',
    },
    ignore_case: { type: 'boolean', description: 'Ignore case.' },
    context: {
      type: 'integer', minimum: 0, maximum: 100,
      description: 'Number of lines to show before and after each match.',
    },
    multiline: { type: 'boolean', description: 'Allow matches to span lines.' },
    output_mode: {
      enum: ['content', 'files', 'count'],
      description: 'Return matching lines, file names, or the number of matches per file. Default: content.',
    },
  },
  required: ['pattern'],
  additionalProperties: false,
} as const

/** As many as an operator may show to a model. All of them are saved to a file. */
const LIMIT = 10_000

export const tool = defineTool({
  label: 'Search in files',
  description: 'Searches the text files of the workspace with a regular expression, ordered by path. Binary files '
    + 'and files listed in ignore files are left out. Returns at most 200 matches, and of more the `last` ones, '
    + 'too, and lines up to 2,000 bytes; a file has all of them whole, as path:line:text. `total` is the number of '
    + 'all matches, `unread` the number of files and folders that could not be read, and `left_out` of those that '
    + 'rules deny or ask about. `path` can also be the `output_path` of a long result.',
  input: INPUT_SCHEMA,
  requires: { fs: { read: ['{workspace}', '{ad-hoc}'] } },
  gated: true,
  mode: 'read',
  kind: 'search',
  idempotent: true,
  maxEntries: 200,
  maxOutput: '256KB',
  execute: (args, { fs }) => search(args, fs),
  deriveApprovalKey: ({ path }) => pathKey(path),
})

async function search(args: FromJsonSchema<typeof INPUT_SCHEMA>, fs: FileReader) {
  const { pattern, path, glob, type, ignore_case, context, multiline, output_mode = 'content' } = args
  refuseHome(path)
  const { matches, counts, total, files, unread, leftOut, lastMatches, lastCounts } = await fs.search(pattern, {
    limit: LIMIT,
    save: true,
    want: output_mode === 'content' ? 'lines' : 'counts',
    ...(path !== undefined && { path }),
    ...(glob !== undefined && { glob }),
    ...(type !== undefined && { type }),
    ...(ignore_case !== undefined && { ignoreCase: ignore_case }),
    ...(context !== undefined && { context }),
    ...(multiline !== undefined && { multiline }),
  })
  const missed = { ...(unread > 0 && { unread }), ...leftOutWords(leftOut) }
  switch (output_mode) {
    case 'content':
      return {
        matches, total, ...(lastMatches && { last: lastMatches }), ...missed,
        ...(matches.some(({ cut }) => cut) && { truncated: true }),
      }
    case 'files': {
      const last = lastCounts?.map((file) => file.path)
      return { files: counts.map((file) => file.path), total: files, ...(last && { last }), ...missed }
    }
    case 'count':
      return { counts, total, ...(lastCounts && { last: lastCounts }), ...missed }
  }
}

export const readArguments = pathReader(({ path }) => ({
  path: stringOr(path, '.'), verb: 'read all below', isFolder: true, reads: true, needs: ['fs.read'],
}))
