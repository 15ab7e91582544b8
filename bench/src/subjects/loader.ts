import { defineSubject } from '../harness/subject.ts'
import { FILES_PER_EXTENSION } from '../loads/extension-forest.ts'
import { loadingSides } from '../sides/loading.ts'

const EXTENSIONS = 1_000

export const subject = defineSubject({
  title: `Loading ${EXTENSIONS} extensions of ${FILES_PER_EXTENSION} files each`,
  compares: 'Discovery with every check of every byte, the same from what is remembered, and sha512sum over the same files.',
  sides: loadingSides(EXTENSIONS),
  modes: [{ kind: 'latency' }],
  rounds: 6,
  goals: [
    { side: 'cold load', measure: 'p50', is: '≤', ratio: 2, against: 'sha512sum' },
    { side: 'warm load', measure: 'p50', is: '≤', ratio: 0.1, against: 'cold load' },
  ],
})
