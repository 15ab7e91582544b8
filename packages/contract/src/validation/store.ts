import { z } from 'zod'

const wholeNumber = z.int().positive().max(1_000_000_000)
/** A password in it would be in backups, diagnostics and the list of settings. */
const STORE_URL = /^postgres(?:ql)?:\/\/(?![^/?#]*:[^/?#]*@)(?![^#]*[?&]password=)[^\s]*$/i

export const storeSettings = z.strictObject({
  url: z.string().max(2048).regex(STORE_URL, 'a URL such as postgres://bulkhead@db.example/agents, without a password')
    .exactOptional()
    .describe(
      'A PostgreSQL server: postgres://USER@HOST/DATABASE, with words of libpq as parameters, such as '
      + '?passwordfile=/run/secrets/store. Default: a file in the home.',
    ),
  retention: z.strictObject({
    changesDays: wholeNumber.max(36_500).exactOptional()
      .describe('For how many days the content that calls replaced is kept for undo. Default: 30.'),
    changesMiB: wholeNumber.max(1_048_576).exactOptional().describe('How much of it is kept, in MiB. Default: 256.'),
    changes: wholeNumber.exactOptional().describe('How many changes are listed. Default: 100000.'),
  }).exactOptional().describe('What a store in PostgreSQL keeps, and for how long.'),
})
