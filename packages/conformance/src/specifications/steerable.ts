import { differs, holds, section, type SpecifiedRequirement } from './requirement-table.ts'

const DIALECT = 'contract/dialects/steerable'
const CONSENT = 'host/requirements/steerable-consent'
/** By default the host is stricter about these modes. */
const treated = (id: string, text: string, effect: string) => differs(
  id, text, `By default the mode of the session asks about gated calls. profile: 'steerable' ${effect}.`,
  148, 'guides/dialects', 'bulkhead/specifications/profiles',
  'steerable: modes have the treatment of the specification, and local still asks')

export const STEERABLE: readonly SpecifiedRequirement[] = [
  ...section('Calls', [
    holds('S3-1', 'A call has an id, a name and arguments.', DIALECT, 'is not one with %s'),
    holds('S3-2', 'A call has no other members, and its id is used once in a session.',
      'bulkhead/specifications/calls', 'refuses a call with unknown members, and an id that the session has used'),
    holds('S3-3', 'Arguments are checked against the schema of the tool.',
      'host/calls/validate', 'arguments that violate the schema are reported with path and keyword: %j'),
  ]),
  ...section('Results', [
    holds('S3-4', 'success separates results from errors.', DIALECT, 'preserves its part of any outcome'),
    holds('S3-5', 'terminal, needsFollowup, nextAction, message, error and data are optional.',
      DIALECT, 'reads null as absent'),
    holds('S3-6', 'A result may have further members.', DIALECT, 'preserves any result, including unknown fields'),
  ]),
  ...section('Modes', [
    treated('S3-7', 'read runs without consent.', 'lets it run'),
    treated('S3-8', 'safe_write runs, with a preview of the difference.', 'lets it run, with the diff'),
    treated('S3-9', 'destructive runs, and can be undone.', 'lets it run, with undo'),
    holds('S3-10', 'local needs consent.', CONSENT, 'a tool that acts on the machine of the user always needs consent'),
    treated('S3-11', 'external runs and is logged.', 'lets it run, with a record in the audit'),
    holds('S3-12', 'The beginning of its name gives a tool its mode.', CONSENT,
      'the prefix of its name sets the mode of a tool'),
    holds('S3-13', 'A registration may name another mode.', CONSENT,
      'the mode given at registration overrides that of the name'),
    holds('S3-14', 'Programs can ask for the mode of a tool.', 'contract/tool-mode', '%s with %j: %s'),
  ]),
  ...section('End of a run', [
    holds('S3-15', 'A result ends the run if it is terminal, or failed without needsFollowup.',
      'contract/dialects/terminal-result', '%j ends the run: %s'),
    differs('S3-16', 'A thrown failure ends the run.',
      'It goes back to the model, as grida and phi demand. A failure that a tool returns in this form ends the run.',
      148, 'guides/dialects', DIALECT, 'follows from the error %s: %s'),
    holds('S3-17', 'needsFollowup returns a failure to the model.', DIALECT,
      'is decided by the tool for its own result'),
    holds('S3-18', 'A result of this form differs from plain data.',
      'bulkhead/specifications/results',
      'a result that satisfies its output schema is data, also if it looks like another form'),
  ]),
  ...section('Examples', [
    holds('S3-19', 'The examples of the specification are read and written without a difference.',
      DIALECT, 'preserves any result, including unknown fields'),
  ]),
]
