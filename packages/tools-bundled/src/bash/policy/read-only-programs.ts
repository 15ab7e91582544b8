import { wordList } from '../parse/plan.ts'
import type { OptionList } from './option-list.ts'

type Shape = Omit<OptionList, 'flags' | 'values' | 'optional'>

/** `letters` and `words` are options without a value. The others take a string or a path, or may take one. */
function reads(
  letters: string, words: string, takesText: string, shape: Shape, takesPath = '', mayTake = '',
): OptionList {
  return {
    flags: [...Array.from(letters, (letter) => `-${letter}`), ...wordList(words)],
    values: Object.fromEntries([
      ...wordList(takesText).map((name) => [name, 'text'] as const),
      ...wordList(takesPath).map((name) => [name, 'path'] as const),
    ]),
    optional: wordList(mayTake),
    ...shape,
  }
}

const FILES: Shape = { operands: 'paths' }
const WORDS: Shape = { operands: 'texts' }
const NOTHING: Shape = { operands: 'none' }

/**
 * Programs with their read-only options. Deliberately excludes options that write, run another program, follow links
 * out of the workspace or read a list of files from elsewhere.
 */
export const READ_ONLY_PROGRAMS: ReadonlyMap<string, OptionList> = new Map([
  ['echo', { ...WORDS, anything: true }],
  ['true', { ...WORDS, anything: true }],
  ['false', { ...WORDS, anything: true }],
  ['printf', WORDS],
  ['sleep', WORDS],
  ['seq', reads('w', '', '-s -f', WORDS)],
  ['basename', reads('az', '', '-s', WORDS)],
  ['dirname', reads('z', '', '', WORDS)],
  // A path would reveal whether a file outside the workspace exists.
  ['which', reads('a', '', '', { ...WORDS, operandForm: /^[\w.+-]+$/ })],
  ['whereis', { ...WORDS, operandForm: /^[\w.+-]+$/ }],
  ['expr', { ...WORDS, anything: true }],
  ['tr', reads('cCdst', '--delete --squeeze-repeats --complement', '', WORDS)],
  // No options: they can read files. An operand without `+` would set the clock.
  ['date', { ...WORDS, operandForm: /^\+/ }],

  ['pwd', reads('LP', '', '', NOTHING)],
  ['whoami', NOTHING],
  ['id', reads('ugGnr', '', '', NOTHING)],
  ['uname', reads('asnrvmpio', '--all', '', NOTHING)],
  ['nproc', reads('', '--all', '', NOTHING)],
  ['arch', NOTHING],
  ['groups', NOTHING],
  ['hostname', reads('sfdiI', '', '', NOTHING)],
  ['free', reads('bkmghtlw', '--human', '', NOTHING)],
  ['locale', reads('am', '', '', NOTHING)],

  ['ls', reads(
    'aAlhRrtSXUsFdiGgonpqQ1kBcuvmxCNZ',
    '--all --almost-all --human-readable --recursive --reverse --size --directory --inode --full-time '
      + '--group-directories-first',
    '--sort --time --time-style -I --ignore -w --format', FILES, '', '--color --classify',
  )],
  ['cat', reads('AbeEnstTuv', '--number --show-all --squeeze-blank', '', FILES)],
  ['head', { ...reads('qvz', '--quiet --verbose', '-n -c --lines --bytes', FILES), numbers: true }],
  ['tail', { ...reads('fqvz', '--quiet --verbose', '-n -c --lines --bytes', FILES), numbers: true }],
  ['wc', reads('clLmw', '--lines --words --bytes --chars --max-line-length', '', FILES)],
  ['nl', reads('', '', '-b -w -s -n -v -i -h -f', FILES)],
  // stage-argv.ts adds --no-dereference, so links inside folders are not followed.
  ['diff', reads(
    'abBcdEiNpqrsuwyZ',
    '--brief --recursive --ignore-all-space --ignore-space-change --side-by-side --strip-trailing-cr',
    '-U -C -x -I --exclude', { ...FILES, maxOperands: 2 }, '', '--unified --context --color',
  )],
  ['tac', FILES],
  ['rev', FILES],
  ['cut', reads(
    'nsz', '--complement --only-delimited', '-d -f -c -b --delimiter --fields --characters --output-delimiter', FILES,
  )],
  ['sort', reads(
    'bcCdfgiMhnRrsuVz', '--numeric-sort --reverse --unique --human-numeric-sort --version-sort --ignore-case --stable',
    '-k -t --key --field-separator', FILES,
  )],
  // The second operand is an output file.
  ['uniq', reads('cdDiuz', '--count --repeated --unique --ignore-case', '-f -s -w', { ...FILES, maxOperands: 1 })],
  ['comm', reads('123z', '--check-order --nocheck-order', '', { ...FILES, maxOperands: 2 })],
  ['cmp', reads('bls', '', '', { ...FILES, maxOperands: 2 })],
  ['paste', reads('sz', '', '-d', FILES)],
  ['column', reads('tx', '', '-s -o -c', FILES)],
  ['fold', reads('bs', '', '-w', FILES)],
  ['stat', reads('ft', '--terse', '-c --format --printf', FILES)],
  ['file', reads('bikNnr0', '--brief --mime --mime-type --mime-encoding', '-F', FILES)],
  ['du', reads(
    'abchkmsSx', '--all --human-readable --summarize --total --apparent-size', '-d --max-depth --exclude', FILES,
  )],
  ['df', reads('ahHiklPT', '--human-readable --total', '', FILES)],
  // No options: it takes the values of combined letters from the words that follow.
  ['tree', FILES],
  ['realpath', reads('emsqz', '', '', FILES, '--relative-to --relative-base')],
  ['readlink', reads('femnqsvz', '', '', FILES)],
  ['md5sum', FILES],
  ['sha1sum', FILES],
  ['sha256sum', FILES],
  ['sha512sum', FILES],
  ['cksum', FILES],
  ['base64', reads('di', '--decode', '-w --wrap', { ...FILES, maxOperands: 1 })],
  // No options: it reads some combined letters as one, and options after the file as output. So is a second operand.
  ['xxd', { ...FILES, maxOperands: 1 }],
  // Without a suffix it would read another file, possibly a link.
  ['zcat', { ...FILES, operandForm: /\.gz$/ }],
  ['hexdump', reads('bcCdovx', '', '-n -s', FILES)],
  ['od', reads('abcdfiloxv', '', '-A -t -N -j', FILES)],
  // `@` names a file with options.
  ['strings', { ...FILES, operandForm: /^[^@]/ }],

  ['grep', reads(
    'abcEFGhHiILlnoPqrsTUvwxyZz',
    '--recursive --ignore-case --line-number --files-with-matches --files-without-match --count --word-regexp '
      + '--invert-match --extended-regexp --fixed-strings --perl-regexp --only-matching --no-filename --with-filename '
      + '--quiet --silent --text --no-messages',
    '-A -B -C -e -m -d --include --exclude --exclude-dir --after-context --before-context --context --max-count '
      + '--regexp',
    { operands: 'text-then-paths', firstGivenBy: ['-e', '-f', '--regexp'], numbers: true }, '-f', '--color',
  )],
  ['rg', reads(
    'acFHiIlnNopqsSUuvwx0',
    '--files --files-with-matches --files-without-match --hidden --no-ignore --ignore-case --smart-case '
      + '--case-sensitive --fixed-strings --line-number --no-line-number --count --count-matches --only-matching '
      + '--multiline --json --heading --no-heading --no-filename --with-filename --word-regexp --invert-match --stats '
      + '--quiet --pcre2 --type-list --vimgrep --column --trim',
    '-A -B -C -e -g -m -t -T -M -d -j -r --glob --iglob --type --type-not --max-count --max-depth --context --color '
      + '--after-context --before-context --regexp --sort --max-columns --replace',
    { operands: 'text-then-paths', firstGivenBy: ['-e', '-f', '--regexp', '--files', '--type-list'] }, '-f',
  )],
])

/** Read-only programs that report more than the workspace. They require approval, and rules can allow them by name. */
export const SYSTEM_PROGRAMS: ReadonlyMap<string, OptionList> = new Map([
  ['ps', reads('aAdeflwxuj', '--forest --no-headers', '-o -p -C --sort', { ...WORDS, operandForm: /^[a-zA-Z]+$/ })],
  ['pgrep', reads('acflnovx', '', '-P -u -d', WORDS)],
  ['lsof', reads('nPtlbR', '-i', '', { ...WORDS, operandForm: /^(?:tcp|udp|TCP|UDP)?:\d+$/ })],
])
