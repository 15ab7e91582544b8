import type { Mutant } from '../mutant.ts'

export const BRIDGES: readonly Mutant[] = [
  {
    what: 'MOST_UNSENT: updates that an editor has not read yet',
    file: 'packages/bridges/src/acp/updates.ts',
    from: ' || this.#unsent >= MOST_UNSENT',
    to: '',
    test: 'packages/bridges/test/acp/updates.test.ts',
  },
  {
    what: 'SLACK_MS: a token is fetched again before it expires',
    file: 'packages/bridges/src/openapi/calling/authorization.ts',
    from: ' - SLACK_MS }',
    to: ' }',
    test: 'packages/bulkhead/test/openapi/credentials.test.ts',
  },
]
