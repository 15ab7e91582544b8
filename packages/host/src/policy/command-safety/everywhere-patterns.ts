import type { CommandSafetyPattern } from '@bulkhead/contract'
import { anyOf, command, CREDENTIALS, END, INTERPRETERS, INTO_FILE, LINE, SENDERS, WORDS } from './fragments.ts'

type Pattern = Omit<CommandSafetyPattern, 'platform'>
const INTO_INTERPRETER =
  String.raw`\|\s*(?:(?:sudo|env|doas)\s+(?:-\S+\s+)*)*(?:/\S*/)?(?:${INTERPRETERS})(?:\s|$|[;&|)"'])`
/** With the options it takes before the name of what it is to do. */
const GIT = String.raw`${command('git')}(?:\s+(?:-[Cc]\s+\S+|-\S+))*`
const FORCE = String.raw`(?:--force|-\w*f\w*)`
/** Where a shell puts what a command has written. */
const SUBSTITUTION = String.raw`(?:<\(|\$\(|${'`'})`
const READERS = ['cat', 'less', 'more', 'head', 'tail', 'base64', 'xxd', 'strings', 'cp', 'tar', 'zip', 'type', 'gc']
const HISTORY_FILE = String.raw`\.(?:bash|zsh|python|mysql|psql|node_repl)_history`
const DATABASES = ['psql', 'mysql', 'mariadb', 'sqlite3', 'sqlcmd', 'cockroach', 'clickhouse-client']
const POWER = 'poweroff|reboot|halt|kexec|rescue|emergency|suspend|hibernate'
const PROTECTED = String.raw`(?:main|master|trunk|develop|production|prod|release(?:[/-][\w./-]+)?)`

const remoteCode: readonly Pattern[] = [
  {
    id: 'download-pipe-shell', label: 'Run a downloaded script', category: 'remote-code', severity: 'critical',
    description: 'Pipes a script from the network into an interpreter without review.',
    pattern: `${command('curl', 'wget', 'fetch', 'aria2c', 'http', 'lynx')}\\s${LINE}${INTO_INTERPRETER}`,
  },
  {
    id: 'shell-of-download', label: 'Run a script during download', category: 'remote-code', severity: 'critical',
    description: 'Lets an interpreter run a script from the network without review.',
    pattern: anyOf(String.raw`\b(?:${INTERPRETERS}|eval|source)\b`, String.raw`(?:^|[\s;&|])\.`)
      + String.raw`\s+(?:-\w+\s+)*["']?${SUBSTITUTION}\s*(?:curl|wget|fetch)\s`,
  },
  {
    id: 'decoded-pipe-shell', label: 'Run an encoded script', category: 'remote-code', severity: 'critical',
    description: 'Decodes a script and runs it. Encoding hides what it does.',
    pattern: anyOf(
      String.raw`\bbase(?:64|32)\s+(?:-\w+\s+)*(?:-d|-D|--decode)`, String.raw`\bxxd\s+(?:-\w+\s+)*-r`,
      String.raw`\bopenssl\s+(?:enc|base64)\s${LINE}-d`,
    ) + LINE + INTO_INTERPRETER,
  },
  {
    id: 'reverse-shell', label: 'Reverse shell', category: 'remote-code', severity: 'critical',
    description: 'Connects a shell on this machine to another machine.',
    pattern: anyOf(
      String.raw`/dev/(?:tcp|udp)/[\w.$\{\}-]+/\w`,
      String.raw`${command('nc', 'ncat', 'netcat')}${WORDS}\s+(?:-\w*[ec]\s*|--exec\s+|--sh-exec\s+)`
      + String.raw`(?:/\S*/)?(?:ba|z|da|k)?sh\b`,
      String.raw`${command('socat')}\s${LINE}\b(?:exec|system):`,
    ),
  },
]

const credentials: readonly Pattern[] = [
  {
    id: 'credential-exfiltration', label: 'Send credentials away', category: 'credentials', severity: 'critical',
    description: 'Sends keys or passwords to another machine.',
    pattern: anyOf(
      String.raw`${CREDENTIALS}${LINE}\|\s*(?:${SENDERS})\b`,
      String.raw`\b(?:${SENDERS})\b${LINE}(?:@|=@|-T\s*|--upload-file[\s=]|--post-file[\s=]|\s)["']?`
      + String.raw`[\w./~$\{\}-]*${CREDENTIALS}`,
      String.raw`\$\((?:cat|base64)\s+[^)]*${CREDENTIALS}`,
    ),
  },
  {
    id: 'environment-exfiltration', label: 'Send the environment away', category: 'credentials', severity: 'critical',
    description: 'Sends all environment variables, including keys, to another machine.',
    pattern: anyOf(
      String.raw`${command('env', 'printenv', 'set', 'export')}\s*(?:-\w+\s*)?\|${LINE}\b(?:${SENDERS})\b`,
      String.raw`\b(?:${SENDERS})\s${LINE}${SUBSTITUTION}\s*(?:env|printenv)\b`,
      String.raw`/proc/(?:self|\d+)/environ${LINE}\|\s*(?:${SENDERS})\b`,
    ),
  },
  {
    id: 'history-exfiltration', label: 'Send the history away', category: 'credentials', severity: 'critical',
    description: 'Sends the shell history, which may hold passwords, to another machine.',
    pattern: anyOf(
      String.raw`(?:${command('history')}|${HISTORY_FILE})${LINE}\|\s*(?:${SENDERS})\b`,
      String.raw`\b(?:${SENDERS})\s${LINE}${HISTORY_FILE}`,
    ),
  },
  {
    id: 'credential-read', label: 'Read credentials', category: 'credentials', severity: 'warning',
    description: 'Shows keys or passwords, also to the model.',
    pattern: `${command(...READERS)}\\s${LINE}${CREDENTIALS}`,
  },
  {
    id: 'key-planted', label: 'Add an SSH key', category: 'credentials', severity: 'critical',
    description: 'Adds a key that lets another machine log in to this account.',
    pattern: String.raw`${INTO_FILE}[\w./~$\{\}-]*\.ssh/authorized_keys`,
  },
  {
    id: 'traces-removed', label: 'Remove traces', category: 'credentials', severity: 'warning',
    description: 'Removes logs or history of what was done.',
    pattern: anyOf(
      String.raw`${command('history')}\s+-\w*[cw]`,
      String.raw`${command('unset')}\s+HISTFILE`,
      String.raw`\bHISTFILE=/dev/null`,
      String.raw`${command('rm', 'shred', 'truncate')}${WORDS}\s+\S*(?:\.(?:bash|zsh)_history|/var/log/)`,
      String.raw`>\s*["']?(?:\S*\.(?:bash|zsh)_history|/var/log/)`,
      String.raw`(?i:\b(?:clear-eventlog|wevtutil(?:\.exe)?\s+cl)\b)`,
    ),
  },
]

const work: readonly Pattern[] = [
  {
    id: 'git-force-push-protected', label: 'Rewrite a shared branch', category: 'version-control', severity: 'critical',
    description: 'Replaces the history of a branch that others build on.',
    pattern: String.raw`${GIT}\s+push` + anyOf(
      String.raw`${WORDS}\s+${FORCE}${WORDS}\s+(?:\S*:)?${PROTECTED}${END}`,
      String.raw`${WORDS}\s+(?:\S*:)?${PROTECTED}["']?${WORDS}\s+${FORCE}${END}`,
      String.raw`${WORDS}\s+\+(?:\S*:)?${PROTECTED}${END}`,
    ),
  },
  {
    id: 'git-force-push', label: 'Rewrite a remote branch', category: 'version-control', severity: 'warning',
    description: 'Replaces or removes history in a remote repository.',
    pattern: String.raw`${GIT}\s+push${WORDS}\s+` + anyOf(
      String.raw`--force(?:-with-lease|-if-includes)?(?:=\S+)?`, String.raw`-\w*f\w*`, '--mirror', '--delete', '-d',
      '--prune', String.raw`[+:]\S+`,
    ) + END,
  },
  {
    id: 'git-discard', label: 'Discard changes', category: 'version-control', severity: 'warning',
    description: 'Discards work that was not committed.',
    pattern: String.raw`${GIT}\s+` + anyOf(
      String.raw`reset${WORDS}\s+--hard`, String.raw`clean${WORDS}\s+${FORCE}`,
      String.raw`checkout${WORDS}\s+(?:--\s+)?\.`, String.raw`restore${WORDS}\s+\.`,
      String.raw`stash\s+(?:clear|drop)`,
    ) + END,
  },
  {
    id: 'git-rewrite', label: 'Rewrite history', category: 'version-control', severity: 'warning',
    description: 'Rewrites commits, or removes what could restore them.',
    pattern: String.raw`${GIT}\s+` + anyOf(
      'filter-branch', 'filter-repo', String.raw`reflog\s+(?:expire|delete)`, String.raw`update-ref\s+-d`,
      String.raw`gc${WORDS}\s+--prune=(?:now|all)`,
    ) + String.raw`\b`,
  },
  {
    id: 'containers-removed', label: 'Remove containers and volumes', category: 'infrastructure', severity: 'warning',
    description: 'Removes containers, images or the data of volumes.',
    pattern: String.raw`${command('docker', 'podman', 'docker-compose')}${WORDS}\s+` + anyOf(
      String.raw`(?:system|volume|image|container|network)\s+prune`, String.raw`volume\s+rm`,
      String.raw`down${WORDS}\s+(?:-v|--volumes)`,
    ) + String.raw`\b`,
  },
  {
    id: 'container-escape', label: 'Privileged container', category: 'privileges', severity: 'critical',
    description: 'Starts a container with full access to the machine.',
    pattern: String.raw`${command('docker', 'podman', 'nerdctl')}${WORDS}\s+(?:run|create|exec)${WORDS}\s+` + anyOf(
      '--privileged', '--pid[= ]host',
      String.raw`(?:-v|--volume|--mount)[ =]?\S*?(?:/var/run/docker\.sock|\b(?:source|src)=/,|["']?/:/)`,
    ),
  },
  {
    id: 'cluster-delete', label: 'Delete in a cluster', category: 'infrastructure', severity: 'critical',
    description: 'Deletes a namespace, a node or everything of a kind.',
    pattern: anyOf(
      String.raw`${command('kubectl', 'oc')}${WORDS}\s+`
      + String.raw`(?:delete${WORDS}\s+(?:ns|namespaces?|nodes?|pv|crd|--all)|drain)\b`,
      String.raw`${command('helm')}${WORDS}\s+(?:uninstall|delete)\s`,
    ),
  },
  {
    id: 'infrastructure-destroy', label: 'Destroy infrastructure', category: 'infrastructure', severity: 'critical',
    description: 'Destroys everything that a plan has created.',
    pattern: anyOf(
      String.raw`${command('terraform', 'tofu', 'terragrunt', 'pulumi', 'cdk')}${WORDS}\s+(?:destroy|state\s+rm)\b`,
      String.raw`${command('terraform', 'tofu', 'terragrunt')}${WORDS}\s+apply${WORDS}\s+-destroy\b`,
      String.raw`${command('pulumi')}${WORDS}\s+stack\s+rm\b`,
    ),
  },
  {
    id: 'cloud-delete', label: 'Delete in a cloud', category: 'infrastructure', severity: 'warning',
    description: 'Deletes resources or data in a cloud.',
    pattern: anyOf(
      String.raw`${command('aws')}${WORDS}\s+s3\s+(?:rb|rm${WORDS}\s+--recursive|sync${WORDS}\s+--delete)`,
      String.raw`${command('aws')}${WORDS}\s+\S+\s+(?:delete|terminate)-\S+`,
      String.raw`${command('gcloud', 'az')}${WORDS}\s+delete\b`,
      String.raw`${command('gsutil')}${WORDS}\s+(?:-m\s+)?rm\b`,
    ),
  },
  {
    id: 'database-drop', label: 'Drop data', category: 'data', severity: 'critical',
    description: 'Drops a database or tables, or empties them.',
    pattern: anyOf(
      String.raw`${command(...DATABASES)}\s${LINE}(?i:drop\s+(?:database|schema|table)|truncate\s+(?:table\s+)?\w)`,
      String.raw`${command('dropdb')}\s`,
      String.raw`${command('redis-cli')}\s${LINE}(?i:flush(?:all|db))\b`,
      String.raw`${command('mongo', 'mongosh')}\s${LINE}dropDatabase`,
    ),
  },
  {
    id: 'publish', label: 'Publish a package', category: 'infrastructure', severity: 'warning',
    description: 'Publishes or unpublishes a package that others install.',
    pattern: anyOf(
      String.raw`${command('npm', 'pnpm', 'yarn', 'bun')}${WORDS}\s+(?:npm\s+)?(?:publish|unpublish|deprecate)\b`,
      String.raw`${command('cargo', 'poetry', 'uv')}${WORDS}\s+(?:publish|yank)\b`,
      String.raw`${command('twine')}\s+upload\b`,
      String.raw`${command('gem')}\s+(?:push|yank)\b`,
    ),
  },
  {
    id: 'shutdown', label: 'Stop the machine', category: 'availability', severity: 'critical',
    description: 'Stops or restarts the machine that runs the agent.',
    pattern: anyOf(
      String.raw`${command('shutdown', String.raw`shutdown\.exe`, 'poweroff', 'halt', 'reboot')}(?:\s+[-/+\w]|${END})`,
      String.raw`${command('init', 'telinit')}\s+[06]${END}`,
      String.raw`${command('systemctl', 'loginctl')}${WORDS}\s+(?:${POWER})${END}`,
      String.raw`(?i:${command('stop-computer', 'restart-computer')})`,
    ),
  },
]

export const EVERYWHERE_PATTERNS: readonly CommandSafetyPattern[] =
  [...remoteCode, ...credentials, ...work].map((pattern) => ({ ...pattern, platform: 'all' }))
