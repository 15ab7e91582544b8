import { defineExtension, type ManifestInput } from '@bulkhead/contract'
import { BUNDLED } from '../model/bundled-extension.ts'
import { pathKey, pathReader, refuseHome, stringOr, withPreview } from '../model/paths.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    path: {
      type: 'string', minLength: 1,
      description: 'Path of the file, relative to the workspace or absolute inside it.',
    },
    content: { type: 'string', description: 'The complete content of the file.' },
  },
  required: ['path', 'content'],
  additionalProperties: false,
} as const

const REQUIRES = { fs: { write: ['{workspace}', '{ad-hoc}'] } }

const manifest = {
  ...BUNDLED,
  id: 'write',
  tools: [{
    name: 'write',
    label: 'Write',
    description: 'Creates or replaces a file of the workspace, and creates missing folders. To change a part of a '
      + 'file, use `edit`.',
    inputSchema: INPUT_SCHEMA,
    requires: REQUIRES,
    gated: true,
    mode: 'safe_write',
    kind: 'edit',
    idempotent: true,
  }],
} satisfies ManifestInput

export const write = {
  manifest,
  module: defineExtension({
    tools: {
      write: {
        input: INPUT_SCHEMA,
        requires: REQUIRES,
        async execute({ path, content }, { fs }) {
          refuseHome(path)
          const { bytes, created } = await fs.write(path, content)
          return { path, bytes, created }
        },
        deriveApprovalKey: ({ path }) => pathKey(path),
      },
    },
  }),
}

export const readWriteArguments = withPreview(pathReader(({ path }) => ({
  path: stringOr(path), verb: 'write', isFolder: false, isWritten: true, needs: ['fs.write'],
})), ({ path, content }) => [{ path: stringOr(path), content: stringOr(content) }])
