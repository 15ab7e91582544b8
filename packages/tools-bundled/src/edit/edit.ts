import { defineTool } from '@bulkhead/contract'
import { ALL_FILES } from '../model/bundled-extension.ts'
import { pathKey, pathReader, refuseHome, stringOr, withPreview } from '../model/paths.ts'

export const tool = defineTool({
  label: 'Edit',
  description: 'Replaces text in a file of the workspace. `old_string` must occur exactly once, so include enough '
    + 'context. With `replace_all`, every occurrence is replaced. If `old_string` does not occur, or occurs more '
    + 'than once, nothing changes. Line endings and encoding are preserved.',
  input: {
    type: 'object',
    properties: {
      path: {
        type: 'string', minLength: 1,
        description: 'Path of the file, relative to the workspace or absolute inside it.',
      },
      old_string: {
        type: 'string', minLength: 1,
        description: 'The text to replace, exactly as in the file. It must occur exactly once.',
      },
      new_string: { type: 'string', description: 'The replacement.' },
      replace_all: {
        type: 'boolean',
        description: 'Replace all occurrences. `old_string` may then occur more than once.',
      },
    },
    required: ['path', 'old_string', 'new_string'],
    additionalProperties: false,
  },
  requires: { fs: { read: [...ALL_FILES], write: ['{workspace}', '{ad-hoc}'] } },
  gated: true,
  mode: 'safe_write',
  kind: 'edit',
  async execute({ path, old_string, new_string, replace_all = false }, { fs }) {
    refuseHome(path)
    const { replacements, diff } = await fs.edit(path, old_string, new_string, { all: replace_all })
    return { path, replacements, diff }
  },
  deriveApprovalKey: ({ path }) => pathKey(path),
})

export const readArguments = withPreview(pathReader(({ path }) => ({
  path: stringOr(path), verb: 'read and write', isFolder: false, isWritten: true, needs: ['fs.read', 'fs.write'],
})), ({ path, old_string, new_string, replace_all }) => [{
  path: stringOr(path),
  replace: { before: stringOr(old_string), after: stringOr(new_string), all: replace_all === true },
}])
