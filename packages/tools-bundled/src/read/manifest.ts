import type { ManifestInput } from '@bulkhead/contract'
import { BUNDLED } from '../bundled-extension.ts'

export const MAX_BYTES = 200 * 1024

export const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    path: { type: 'string', minLength: 1, description: 'Path of the file, relative to the workspace or absolute inside it.' },
    offset: { type: 'integer', minimum: 1, description: 'First line, from 1.' },
    limit: { type: 'integer', minimum: 1, description: 'How many lines at most.' },
    byte_start: { type: 'integer', minimum: 0, description: 'First byte, from 0.' },
    byte_end: { type: 'integer', minimum: 0, description: 'Byte after the last.' },
  },
  required: ['path'],
  additionalProperties: false,
} as const

export const REQUIRES = { fs: { read: ['{workspace}'] } }

export const manifest = {
  ...BUNDLED,
  id: 'read',
  tools: [{
    name: 'read',
    label: 'Read',
    description: 'Reads a file of the workspace. Text comes by lines: `offset` is the first line, from 1, and `limit` how many. '
      + '`byte_start` and `byte_end` read a range of bytes instead. At most 200 KB come at once; the answer says which part it is, how many lines there are (`total`) unless the file is very long, and where `cut` is true the last line goes on at `bytes.to`. Images come as images. '
      + 'The file that a long result went to (`output_path`) can be read too.',
    inputSchema: INPUT_SCHEMA,
    requires: REQUIRES,
    gated: false,
    mode: 'read',
    kind: 'read',
    idempotent: true,
    maxOutput: '256KB',
  }],
} satisfies ManifestInput
