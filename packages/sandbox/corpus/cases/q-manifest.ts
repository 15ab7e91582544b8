import { attacksOf, refused } from '../model/case.ts'

const attack = attacksOf('Q', { alone: true, control: 'none' })

/** The only attack on manifests and packages that reaches a compartment. The loader rejects the others. */
export const manifest = [
  attack(251, 'declares a requirement that this system cannot enforce',
    '', [['open', refused('CapabilityUnavailable')]], {
    requires: { capabilities: ['tools.call'] },
  }),
]
