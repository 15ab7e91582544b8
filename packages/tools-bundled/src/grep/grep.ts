import { defineExtension, type FileReader, type FromJsonSchema } from '@bulkhead/contract'
import { ownFolderKey } from '../folder-key.ts'
import { refuseHome } from '../no-home.ts'
import { INPUT_SCHEMA, manifest, REQUIRES } from './manifest.ts'

/** Found at most, so that what is beyond the model's share can be kept in a file. */
const LIMIT = 5_000

export const grep = {
  manifest,
  module: defineExtension({
    tools: {
      grep: {
        input: INPUT_SCHEMA,
        requires: REQUIRES,
        execute: (args, { fs }) => search(args, fs),
        deriveApprovalKey: ({ path }) => ownFolderKey(path),
      },
    },
  }),
}

async function search(args: FromJsonSchema<typeof INPUT_SCHEMA>, fs: FileReader) {
  const { pattern, path, glob, type, ignore_case, context, multiline, output_mode = 'content' } = args
  refuseHome(path)
  const { matches, counts, total, files, unread } = await fs.search(pattern, {
    limit: LIMIT,
    want: output_mode === 'content' ? 'lines' : 'counts',
    ...(path !== undefined && { path }),
    ...(glob !== undefined && { glob }),
    ...(type !== undefined && { type }),
    ...(ignore_case !== undefined && { ignoreCase: ignore_case }),
    ...(context !== undefined && { context }),
    ...(multiline !== undefined && { multiline }),
  })
  const missed = unread === 0 ? {} : { unread }
  switch (output_mode) {
    case 'content':
      return { matches, total, ...missed }
    case 'files':
      return { files: counts.map((file) => file.path), total: files, ...missed }
    case 'count':
      return { counts, total, ...missed }
  }
}
