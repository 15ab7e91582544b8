import { z } from 'zod'

const wholeNumber = z.int().positive().max(1_000_000_000)
const days = (what: string) => wholeNumber.max(36_500).exactOptional().describe(`For how many days ${what}`)
/**
 * A password in it would be in backups, diagnostics and the list of settings. One with / or ? that is not encoded looks
 * like a port and a path, so there is no colon anywhere before an @.
 */
const STORE_URL = /^postgres(?:ql)?:\/\/(?![^@]*:[^@]*@)(?![^#]*[?&]password=)[^\s]*$/i

export const storeSettings = z.strictObject({
  url: z.string().max(2048).regex(STORE_URL, 'a URL such as postgres://bulkhead@db.example/agents, without a password')
    .exactOptional()
    .describe(
      'A PostgreSQL server: postgres://USER@HOST/DATABASE, with words of libpq as parameters, such as '
      + '?passwordfile=/run/secrets/store. Default: a file in the home.',
    ),
  retention: z.strictObject({
    changesDays: days('the content that calls replaced is kept in PostgreSQL for undo. Default: 30.'),
    changesMiB: wholeNumber.max(1_048_576).exactOptional().describe('How much of it is kept there, in MiB. Default: 256.'),
    changes: wholeNumber.exactOptional().describe('How many changes are listed there. Default: 100000.'),
    sessionDays: days('a session can be continued after its last change. Default: 7.'),
    outcomeHours: wholeNumber.max(876_000).exactOptional()
      .describe('For how many hours the outcome of an idempotency key is kept, and that a question was answered. Default: 24.'),
    pausedDays: days('a call waits for an answer. Default: 90.'),
    approvalDays: days('an approval is listed after its end. Default: 90.'),
    clientDays: days('a client of `bulkhead mcp` can continue in another replica. Default: 30.'),
    recordDays: days('a recorded session is kept after its last call. Default: 7.'),
    recordMiB: wholeNumber.max(1_048_576).exactOptional()
      .describe('How much of recorded sessions is kept, in MiB; the oldest go first. Default: 256.'),
    auditDays: days('the audit is kept. Older records are removed without an archive. Default: until it is archived.'),
  }).exactOptional().describe('What a store keeps, and for how long.'),
})

export const auditSettings = z.strictObject({
  enabled: z.boolean().optional()
    .describe('Whether decisions and calls are recorded. Default: true if the store outlives the host.'),
  arguments: z.boolean().optional()
    .describe('Whether the arguments of calls are recorded, not only their digest. Default: false.'),
  require: z.boolean().optional()
    .describe(
      'Whether a call is refused unless its decision is recorded first. It overrides `enabled`, needs a store that '
      + 'outlives the host, and no later layer can disable it.',
    ),
})
