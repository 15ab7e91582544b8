import { defineSubject } from '../harness/subject.ts'
import { editTool, readAndWrite, readTool, readTwice } from '../sides/tools/files.ts'
import { FILES } from '../sides/tools/ground.ts'
import { bareList, bareSearch, globTool, grepTool } from '../sides/tools/searching.ts'

export const subject = defineSubject({
  title: `Bundled tools over ${FILES} files, beside what they are made of`,
  compares: 'Whole calls through the facade: grep and glob beside ripgrep started by hand, read of 100 KB and edit of 1 MB beside node:fs.',
  sides: [bareSearch, grepTool, bareList, globTool, readTwice, readTool, readAndWrite, editTool],
  modes: [{ kind: 'latency' }],
  goals: [
    { side: 'grep', measure: 'p50', is: '≤', ratio: 1.3, against: 'bare rg' },
    { side: 'glob', measure: 'p50', is: '≤', ratio: 1.5, against: 'rg --files' },
    { side: 'read', measure: 'p50', is: '≤', ratio: 1, against: 'twice fs.readFile and one pipeline' },
    { side: 'edit', measure: 'p50', is: '≤', ratio: 3, against: 'reading and writing' },
  ],
})
