import type { Mutant } from '../mutant.ts'

const CHECK = 'packages/kit/src/webauthn.ts'
const CHECK_TEST = 'packages/kit/test/webauthn.test.ts'
const RING = 'packages/bulkhead/src/facade/passkeys/passkey-ring.ts'
const TEST = 'packages/bulkhead/test/inspector/passkeys.test.ts'

export const PASSKEYS: readonly Mutant[] = [
  {
    what: 'A passkey counts only with a person who was verified',
    file: CHECK, from: 'if ((flags & VERIFIED) === 0) return', to: 'if (flags < 0) return', test: CHECK_TEST,
  },
  {
    what: 'A passkey counts only with a person who was present',
    file: CHECK, from: 'if ((flags & PRESENT) === 0) return', to: 'if (flags < 0) return', test: CHECK_TEST,
  },
  {
    what: 'A passkey is for one name of a host',
    file: CHECK, from: "if (!data.subarray(0, 32).equals(hash('sha256', rpId, 'buffer'))) return",
    to: 'if (data.length < 0) return', test: CHECK_TEST,
  },
  {
    what: 'A passkey signs the call, the answer and the nonce',
    file: CHECK, from: "if (client['challenge'] !== challenge) return",
    to: "if (client['challenge'] === undefined) return", test: CHECK_TEST,
  },
  {
    what: 'A passkey counts on the page that showed the question, with its port',
    file: 'packages/host/src/policy/interaction/passkeys.ts',
    from: '&& (origin === shown || key.origins.includes(origin))', to: '', test: TEST,
  },
  {
    what: 'An answer in the store does not replace a passkey',
    file: 'packages/host/src/calls/authorize.ts',
    from: 'if (lacksPasskey(answer, asks)) return { verdict: rejected({ reason: WITHOUT_PASSKEY }) }',
    to: '', test: TEST,
  },
  {
    what: 'A signature of a passkey counts once',
    file: RING, from: 'if (Object.hasOwn(nonces, nonce)) return', to: 'if (last < 0) return', test: TEST,
  },
  {
    what: 'A passkey whose counter went back does not count',
    file: RING, from: 'if (last > 0 && counter <= last) return', to: 'if (last < 0) return', test: TEST,
  },
]
