import type { Mutant } from '../mutant.ts'

export const BROKER: readonly Mutant[] = [
  {
    what: 'MOST_CONNECTIONS: connections of a relay',
    file: 'packages/broker/src/net/relay.ts',
    from: 'server.maxConnections = MOST_CONNECTIONS',
    to: '',
    test: 'packages/broker/test/net/relay.test.ts',
  },
  {
    what: 'RECORD_BYTES: size of a record of a search',
    file: 'packages/broker/src/fs/search/records.ts',
    from: ' && this.#openBytes <= RECORD_BYTES',
    to: '',
    test: 'packages/broker/test/fs/search/records.test.ts',
  },
]
