import { defineTool, type FileUndo } from '@bulkhead/contract'
import { ALL_FILES } from '../model/bundled-extension.ts'

export const tool = defineTool({
  label: 'Undo',
  description: 'Puts back the files that calls of this session changed: of one call, of a turn, or of the session. '
    + 'Default: the last call that changed files. All files or none. Refused if later changes would be lost; they are '
    + 'named. What commands changed in files is put back too; commands that could not be recorded are named. An undo is '
    + 'a call too and can be undone.',
  input: {
    type: 'object',
    properties: {
      call: { type: 'string', minLength: 1, maxLength: 128, description: 'The id of the call to undo.' },
      turn: { type: 'integer', minimum: 1, description: 'Undo all calls of this turn.' },
      session: { type: 'boolean', description: 'Undo all calls of this session.' },
      dry_run: { type: 'boolean', description: 'Change nothing; return the diff.' },
      force: { type: 'boolean', description: 'Undo even if later changes of the files are lost.' },
    },
    required: [],
    additionalProperties: false,
  },
  requires: { fs: { read: [...ALL_FILES], write: ['{workspace}', '{ad-hoc}'] } },
  gated: true,
  mode: 'safe_write',
  kind: 'edit',
  async execute({ call, turn, session, dry_run: dryRun = false, force = false }, { fs }) {
    return await (fs as unknown as FileUndo).undo({
      ...(call !== undefined && { call }), ...(turn !== undefined && { turn }),
      ...(session !== undefined && { session }), dryRun, force,
    })
  },
  deriveApprovalKey: ({ call, turn, session = false, force = false }) =>
    `${call ?? (turn === undefined ? session ? 'session' : 'last call' : `turn ${turn}`)}${force ? ', force' : ''}`,
})
