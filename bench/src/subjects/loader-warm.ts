import { defineSubject } from '../harness/subject.ts'
import { FILES_PER_EXTENSION } from '../loads/extension-forest.ts'
import { warmStartSides } from '../sides/warm-start.ts'

const EXTENSIONS = 1_000

export const subject = defineSubject({
  title: `CPU of the first load of a fresh process, of ${EXTENSIONS} extensions of ${FILES_PER_EXTENSION} files each that are remembered`,
  compares: 'User and system time of all threads: of the load itself, with every manifest parsed after it, and of the whole '
    + 'process from its start, which strips the types of every source that it imports.',
  sides: warmStartSides(EXTENSIONS),
  modes: [{ kind: 'cpu' }],
  rounds: 6,
  goals: [{ side: 'load alone', measure: 'cpu', is: '≤', ratio: 150 }],
})
