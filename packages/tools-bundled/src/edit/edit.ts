import { defineExtension, type ManifestInput } from '@bulkhead/contract'
import { BUNDLED } from '../model/bundled-extension.ts'
import { folderKey, refuseHome } from '../model/path-keys.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    path: { type: 'string', minLength: 1, description: 'Path of the file, relative to the workspace or absolute inside it.' },
    old_string: { type: 'string', minLength: 1, description: 'The text to replace, exactly as it stands in the file. It must occur once.' },
    new_string: { type: 'string', description: 'The text to put in its place.' },
    replace_all: { type: 'boolean', description: 'Replace every occurrence instead of the only one.' },
  },
  required: ['path', 'old_string', 'new_string'],
  additionalProperties: false,
} as const

const REQUIRES = { fs: { read: ['{workspace}'], write: ['{workspace}'] } }

const manifest = {
  ...BUNDLED,
  id: 'edit',
  tools: [{
    name: 'edit',
    label: 'Edit',
    description: 'Replaces a text in a file of the workspace. `old_string` must stand there exactly once, so take enough of what is around it; '
      + 'with `replace_all` every occurrence is replaced. If it does not occur, or occurs more than once, nothing is changed. Line ends and encoding stay as they are.',
    inputSchema: INPUT_SCHEMA,
    requires: REQUIRES,
    gated: true,
    mode: 'safe_write',
    kind: 'edit',
  }],
} satisfies ManifestInput

export const edit = {
  manifest,
  module: defineExtension({
    tools: {
      edit: {
        input: INPUT_SCHEMA,
        requires: REQUIRES,
        async execute({ path, old_string, new_string, replace_all = false }, { fs }) {
          refuseHome(path)
          const { replacements, diff } = await fs.edit(path, old_string, new_string, { all: replace_all })
          return { path, replacements, diff }
        },
        deriveApprovalKey: ({ path }) => folderKey(path),
      },
    },
  }),
}
