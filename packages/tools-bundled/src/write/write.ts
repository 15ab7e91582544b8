import { defineTool } from '@bulkhead/contract'
import { pathKey, pathReader, refuseHome, stringOr, withPreview } from '../model/paths.ts'

export const tool = defineTool({
  label: 'Write',
  description: 'Creates or replaces a file of the workspace, and creates missing folders. To change a part of a '
    + 'file, use `edit`.',
  input: {
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
  },
  requires: { fs: { write: ['{workspace}', '{ad-hoc}'] } },
  gated: true,
  mode: 'safe_write',
  kind: 'edit',
  idempotent: true,
  async execute({ path, content }, { fs }) {
    refuseHome(path)
    const { bytes, created } = await fs.write(path, content)
    return { path, bytes, created }
  },
  deriveApprovalKey: ({ path }) => pathKey(path),
})

export const readArguments = withPreview(pathReader(({ path }) => ({
  path: stringOr(path), verb: 'write', isFolder: false, isWritten: true, needs: ['fs.write'],
})), ({ path, content }) => [{ path: stringOr(path), content: stringOr(content) }])
