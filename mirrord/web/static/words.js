/**
 * Everything that the console says, by where it says it. A translation is a copy of this module with the same keys.
 * The editor has its own in client/src/words.ts, and the server's pages theirs in templates/words.json.
 */

/** A sentence that begins with a word of another one. */
export const capital = (words) => `${words[0].toUpperCase()}${words.slice(1)}`;

export const COMMON = {
  noAnswer: "The server does not answer.",
  cancel: "Cancel",
  ok: "OK",
  loading: "Loading…",
  close: "Close",
  someone: "someone",
  aFile: "an edited file",
  more: "More…",
  page: "page",
  pages: "pages",
  today: (time) => `today at ${time}`,
};

/** Who did something, by kind of actor. */
export const ACTORS = { human: "", agent: "agent ", app: "app ", daemon: "mirrord " };
/** Where it was done; a channel that is not here is shown by its name. */
export const CHANNELS = { console: "in the console", cli: "on the command line", mcp: "as an agent" };

export const SIGN_OUT = {
  question: (pages) => `This browser has unsaved text of ${pages}.`,
  keep: "Sign out, and keep it in this browser",
  forget: "Sign out, and delete it",
};

export const LEAVING = "This text cannot be saved or kept right now. Stay on the page until the server is back.";

export const TREE = {
  contents: (title) => `Contents of ${title}`,
  actions: (title) => `Actions for ${title}`,
  moved: (title) => `${title} was moved.`,
  isBeyond: "Choose “More…” first: the pages before this one are not listed yet.",
  cannotMove: "It cannot move further in that direction.",
  newInside: "New page inside",
  rename: "Rename",
  icon: "Icon",
  duplicate: "Duplicate",
  moveTo: "Move to…",
  moveUp: "Move up",
  moveDown: "Move down",
  moveIn: "Move into the page above",
  moveOut: "Move out",
  delete: "Delete",
};

export const ACTIONS = {
  newTitle: "Title of the new page",
  create: "Create",
  beginAs: "Begin with",
  emptyPage: "An empty page",
  renameTo: "Rename to",
  rename: "Rename",
  icon: "Icon: an emoji, or empty",
  set: "Set",
  deleteQuestion: (title) => `Delete “${title}”?`,
  delete: "Delete",
  duplicated: (title) => `${title} was duplicated.`,
};

const insidePages = (count) => (count === 1 ? "The page in it is" : `The ${count.toLocaleString()} pages in it are`);
const linkingPages = (count) => (count === 1 ? "1 page links here" : `${count.toLocaleString()} pages link here`);

export const LINKING = {
  follow: (count) => `${linkingPages(count)}; ${count === 1 ? "its links" : "their links"} will follow.`,
  stay: (count) => `${linkingPages(count)}; ${count === 1 ? "its links" : "their links"} may lead nowhere afterwards.`,
  inside: (count) => `${insidePages(count)} deleted with it.`,
  insideUnknown: "Everything in it is deleted with it.",
  dead: (count) => `${linkingPages(count)}; ${count === 1 ? "its links" : "their links"} lead nowhere until it is restored.`,
  restorable: "It can be restored from the trash.",
};

export const DESTINATION = {
  title: (title) => `Move “${title}” to`,
  field: "Find a page or folder",
  top: "Top of the tree",
  nothing: "No page has this name.",
};

export const PAGE = {
  states: {
    saved: "Saved",
    typing: "Not saved yet",
    saving: "Saving…",
    offline: "Offline",
    refused: "Not saved",
    clash: "Changed on both sides",
  },
  kept: "kept in this browser until the server is back",
  notKept: "this browser cannot keep your text, so leave this window open",
  fault: (why) =>
    `The properties at the top of this page cannot be read. Correct them in the Markdown view; until then nothing else of the page can be changed (${why}).`,
  bound: (binding) => `This page is a row of an app, which the binding “${binding}” only reads: it is changed there.`,
  openInApp: "Open it in the app",
  inTrash: "This page is in the trash. ",
  restore: "Restore",
  unwritten: "The Markdown of this page is still being written. Try again in a moment.",
  waitsForDecision: "its deletion waits for a decision",
  onDisk: "on disk",
  toDisk: "being written to disk",
  by: (actor, when) => `by ${actor}${when ? `, ${when}` : ""}`,
  noPage: (name) => `There is no page “${name}” yet.`,
  createIt: "Create it",
  folder: "This folder has no text of its own.",
  emptyFolder: "This folder is empty.",
  notBuilt: "This is the plain Markdown editor, because the rich editor is not installed here. Ask the person who runs mirrord to build it.",
  titleField: "Title",
  star: "Star",
  starred: "Starred",
  unsaved: (when) => `There is unsaved text from ${when}.`,
  continue: "Continue with it",
  discard: "Discard it",
};

export const PROPERTIES = {
  tags: "Tags",
  tagOf: (tag) => `All pages with the tag ${tag}`,
  addTag: "Add a tag",
  removeTag: (tag) => `Remove the tag ${tag}`,
  add: "Add a property",
  name: "Name of the property",
  remove: (key) => `Remove ${key}`,
  count: (count) => (count === 1 ? "1 property" : `${count} properties`),
  listHint: "Separate several values with commas",
  onlyInMarkdown: "Edit it in the Markdown view",
};

export const SOURCE = {
  field: "Markdown of the page",
  save: "Save",
  hint: "The whole file, with its properties. Ctrl+S saves.",
  clash: "The page was changed meanwhile. Choose below; nothing was overwritten.",
  theyChanged: "The page was changed elsewhere while you typed. Your version is in the field below; this is the other one:",
  theirs: "Their version",
  keepYours: "Keep your version",
  useTheirs: "Use their version",
};

export const HISTORY = {
  back: "Back to the page",
  versionOf: (version) => `Version ${version}`,
  head: (when, actor) => `${when}, by ${actor}`,
  restore: "Restore this version",
  question: "Restore the text of this version? This makes a new version; the others stay.",
  confirm: "Restore",
  restored: "Restored.",
  removed: "text no longer kept",
  firstLeft: "The texts of the versions before are no longer kept; the whole text is shown.",
  changes: { created: "created", markdown: "text", content: "text", title: "title", icon: "icon", position: "order", frontmatter: "properties", name: "file name", parent: "moved", deleted: "deleted", restored: "restored", place: "moved", text: "text" },
  layout: "layout",
  session: (count) => `${count} versions`,
  compare: "Compare with",
  thePageNow: "the page as it is now",
  emptyPage: "an empty page",
  asRead: "As it reads",
  blocksHint: "What would change if this version came back, block by block.",
  block: (number) => `Block ${number}`,
  restoreBlock: "Restore this block",
  restoreBlockOf: (number) => `Restore block ${number}`,
  blockRestored: "The block is restored.",
  now: "Now",
  then: "In this version",
  was: "Before",
  became: "In this version",
  nothing: "(nothing)",
};

export const HOME = {
  starred: "Starred",
  visited: "Recently opened",
  changed: "Changed since you looked",
  changedBefore: "Changed earlier",
  nothingChanged: "Nothing was changed by others since you looked.",
  empty: "There are no pages yet. Create the first one.",
  line: (actor, when) => `${actor}, ${when}`,
  you: "you",
};

export const TAGS = {
  none: "No page has a tag yet. Add one beside the title of a page.",
  all: "All tags",
  title: (tag) => `Tag: ${tag}`,
  noPages: "No page has this tag.",
  about: "These are the tags beside the titles of pages. A #word in a text is found by a search for the word.",
};

export const TRASH = {
  find: "Find in the trash",
  restore: "Restore",
  restoreOf: (title) => `Restore ${title}`,
  when: (when, actor) => `deleted ${when} by ${actor}`,
  noneSo: "No deleted page has this name.",
  empty: "The trash is empty.",
  restoreAll: (count) => `Restore all ${count} listed pages`,
  question: (pages) => `Restore ${pages} with everything that was deleted with them?`,
  restored: (pages) => `${pages} restored.`,
};

export const ATTENTION = {
  nothing: "Nothing waits for you.",
  approvals: "Requests of agents",
  halts: "Deletions and losses to confirm",
  conflicts: "Conflicts",
  problems: "Problems",
  notices: "Done without approval",
  reason: "Reason (shown to the requester)",
  reject: "Reject",
  rejected: "Rejected.",
  approve: "Approve",
  approveOf: (what) => `Approve: ${what}`,
  rejectOf: (what) => `Reject: ${what}`,
  approved: "Approved; it will be carried out within a second.",
  notApproved: (count, list) => `${count} approved. Not approved: ${list}.`,
  approveAll: (count) => `Approve all ${count} proposals`,
  carriedOut: "Approved; it is being carried out.",
  review: "Review page by page",
  asked: (what, actor, when, until) => `${what}, asked by ${actor} ${when}; waits until ${until}`,
  details: "Details",
  meant: (effect) => `${capital(effect)}. Is that meant?`,
  yes: "Yes",
  decided: "Decided; it will be carried out within two seconds.",
  isDecided: (decision) => `Decided: ${decision}. It is being carried out.`,
  decisions: { apply: "it was meant", discard: "bring everything back" },
  intended: (effect) => `Intended: ${effect}`,
  undo: (effect) => `Undo: ${effect}`,
  allPaths: (count) => `All ${count}`,
  sides: { base: "Before both changes", file: "Version in the file", row: "Current page" },
  download: "Download",
  merged: "The merged text",
  unknown: "(not known)",
  useFile: "Use the version in the file",
  useRow: "Keep the current page",
  edit: "Edit and use the merged text",
  marks: "Where both sides changed the same lines, both are here between marks (<<<<<<< and >>>>>>>). Keep what is right, and remove the marks.",
  useMerged: "Use the merged text",
  settled: "Settled.",
  changedSince: "It has changed since the conflict arose; the current state is below.",
  thePage: "Open the page",
  history: "Open its history",
  theCopy: "Open the conflict copy",
  everything: "Everything",
  markRead: "Mark all as read",
  read: "Marked as read.",
  noticed: (actor, what) => `${actor} ${what}`,
  times: (count) => ` (${count} pages)`,
  decidedBefore: "Decided before",
  who: ["When", "Who", "Decided", "About"],
  made: {
    approved: "approved",
    rejected: "rejected",
    apply: "it was meant",
    discard: "brought everything back",
    "took-file": "used the version in the file",
    "took-row": "kept the current page",
    "took-merged": "used the merged text",
    "same-text": "gave both sides the same text",
    "sibling-deleted": "settled it: one page is left",
    "sibling-renamed": "settled it: both pages stay",
  },
};

/** What helps against a problem, by its code, where the console has a view or a button for it. Of others the server says it. */
export const REMEDIES = {
  "bound-edit": "Edit the page in its app. The history of the page has the text that was taken back.",
  livelock: "Its history says who changes it. Once one of them is stopped, save a new text.",
  root: "If sync is paused, choose Resume on the status page. Otherwise put the right files back in their place.",
};

const things = (count, more = "") => (count === 1 ? `1${more} page or file` : `${count.toLocaleString()}${more} pages and files`);
const pagesOf = (count, more = "") => (count === 1 ? `1${more} page` : `${count.toLocaleString()}${more} pages`);

/** What waits for a decision, by where it was seen, and what each decision does. `cause`: why the loss of all waits. */
export const HALTS = {
  file: {
    of: things,
    all: "all synced pages and files",
    lost: (what) => `${what} disappeared from disk. Nothing is deleted here until you decide`,
    cause: "the folder may have been emptied, or its disk may not be mounted",
    apply: (count) => `${things(count)} will be deleted here too; the history stays`,
    discard: (count) => `${things(count)} will be written to disk again`,
  },
  row: {
    of: things,
    all: "all synced pages and files",
    lost: (what) => `the deletion of ${what} waits. The files stay until you decide`,
    cause: "nothing would be left",
    apply: (count) => `the files of ${things(count)} will go to the trash`,
    discard: (count) => `${things(count)} will be restored`,
  },
  emptied: {
    of: pagesOf,
    all: "all synced pages",
    lost: (what) => `${what} lost all text on disk. The text stays here until you decide`,
    cause: "nothing would be left",
    apply: (count) => `${pagesOf(count)} will be empty; the history stays`,
    discard: (count) => `${pagesOf(count)} will get the text back on disk`,
  },
  vanished: {
    of: things,
    all: "all synced pages and files",
    lost: (what) => `${what} vanished from the database without a deletion. The files stay until you decide`,
    cause: "the database may have been emptied, or be another one",
    apply: (count) => `the files of ${things(count)} will go to the trash`,
    discard: (count) => `${things(count)} will be made again from the files`,
  },
  content: {
    of: pagesOf,
    lost: (what) => `an app wrote ${what} without any text, or without the special blocks. The files stay until you decide`,
    apply: (count) => `${pagesOf(count)} will be what the app wrote; the history stays`,
    discard: (count) => `${pagesOf(count)} will get the text of the files again; what the app wrote stays in the history`,
  },
};

const MANY = ({ of, lost }, count) => `${lost(of(count))}, because so many at once are often an accident.`;
const ALL = ({ all, lost, cause }) => `${lost(all)}, because ${cause}.`;
const MORE = ({ of, lost }, count) => `${lost(of(count, " more"))}, because an earlier loss waits for a decision.`;

/** The titles of halts, by their reason. Others are said by the server. */
export const HALT_TITLES = {
  "mass-delete": MANY,
  "mass-empty": MANY,
  "database-shrank": MANY,
  "mass-content-lost": MANY,
  "root-emptied": ALL,
  "all-mass-delete": ALL,
  "all-mass-empty": ALL,
  "all-database-shrank": ALL,
  halted: MORE,
};

/** What happened, as the end of a sentence that begins with who did it. */
export const EVENTS = {
  PageCreated: "created a page",
  PageWritten: "edited a page",
  PageMoved: "moved a page",
  PageDeleted: "deleted a page",
  PageRestored: "restored a page",
  AttachmentAdded: "added a file",
  AttachmentMoved: "moved a file with its page",
  AttachmentRestored: "restored a file with its page",
  CollectionAdded: "added a collection",
  CollectionRemoved: "removed a collection",
  CollectionChanged: "changed a collection",
  CollectionUpdated: "updated a collection",
  CategoryAdded: "added a category",
  CategoryRemoved: "removed a category",
  CategoryChanged: "changed a category",
  CategoryUpdated: "updated a category",
  FolderCreated: "created a folder",
  FolderRenamed: "renamed a folder",
  FolderDeleted: "deleted a folder",
  SourceRenamed: "renamed a source",
  SourceDeleted: "deleted a source",
  SourceMovedToFolder: "moved a source",
  SpeakersDetected: "found the speakers of an interview",
  SourceImported: "imported a source",
  SurveyImported: "imported a survey",
  CaseCreated: "created a case",
  ChangesApplied: "applied a change set",
  BackupRequested: "asked for a backup",
  ChangesSubmitted: "submitted a change set for review",
  ChangesReviewed: "reviewed a change set",
  ApprovalRequested: "asked for an approval",
  ApprovalGranted: "approved a request",
  ApprovalDenied: "rejected a request",
  ApprovalExecuted: "carried out a request",
  ApprovalFailed: "could not carry out a request",
};

export const REVIEW = {
  kinds: { created: "New", edited: "Edited", moved: "Moved", deleted: "Deleted" },
  now: "Now",
  then: "Then",
  proposed: "As proposed",
  nothingToShow: "(nothing to show)",
  block: (number) => `Block ${number}`,
  source: "Source",
  bytes: "It is no text that could be shown here; it is accepted or rejected as a whole.",
  textStays: "The text stays as it is.",
  textOf: (path) => `Text of ${path}`,
  textKept: "Kept; this text is applied when you accept.",
  edit: "Edit before accepting",
  useText: "Use this text",
  useAgents: "Use the agent's text",
  from: (path) => `from ${path}`,
  merged: "others changed it too; both changes are merged",
  withYours: "with your text",
  follows: (moves) => `its links follow ${moves.join(", ")}`,
  clash: (reason, canEdit) => `This page cannot be applied: it ${reason}. ${canEdit ? "Write below what it should be, or untick it" : "Untick it"}, and the rest can be accepted.`,
  notCurrent: "Nobody has compared this with the files just now; it is shown as it was before.",
  acceptPage: "Accept this page",
  notKept: (path) => `Your text of ${path} is not kept yet: choose “Use this text” first.`,
  comment: (isPartly) => `Comment for the agent${isPartly ? ": what is not accepted goes back to it" : ""}`,
  commentRejected: "Comment for the agent: why it is rejected",
  accept: "Accept",
  reject: "Reject",
  accepted: "Accepted and applied.",
  acceptedOnly: "Accepted; it is applied as soon as the daemon of this tree runs.",
  rejected: "Rejected; the agent sees your comment.",
  acceptTicked: "Accept what is ticked",
  rejectAll: "Reject all",
  operatorDecides: "An operator decides about this.",
  all: "All change sets",
  head: (actor, when, pages, until, message) => `${actor}, ${when}, ${pages}; waits until ${until}${message ? `: ${message}` : ""}`,
  line: (actor, when, pages) => `${actor}, ${when}: ${pages}`,
  applied: (actor, when, count, state) => `${actor}, ${when}: ${count} ${count === 1 ? "entry" : "entries"}, ${state}`,
  changed: "What changed",
  changedBy: (title) => `What changed: ${title}`,
  further: (count) => `${count} more.`,
  tooLong: "The texts are too long to be compared here; the history of the page has them.",
  undo: "Undo",
  undoOf: (title) => `Undo: ${title}`,
  undone: "It is undone within a second.",
  wouldDo: "An undo would do this",
  nothing: "Nothing.",
  stays: "This was changed since, and stays as it is",
  because: (reason) => `it ${reason}`,
  undoRest: "Undo the rest",
  undoThis: "Undo this",
  waitsForYou: "Waiting for you",
  waitsForOperator: "Waiting for an operator",
  nothingWaits: "Nothing waits for a review.",
  changeSets: "Change sets",
  noChanges: "No agent has changed anything.",
  who: "Changed by",
  everyone: "everyone",
};

export const STATUS = {
  counts: (pages, attachments, records) => `${pages}, ${attachments}, ${records}.`,
  mirrors: "Mirrors",
  problems: "Files with problems",
  noProblems: "No file has a problem.",
  thePage: "the page",
  theChangeSet: "the change set",
  toDisk: "Time from changes here to disk",
  events: "Recent events",
  nothingWritten: "Nothing has been written since this page was opened.",
  lastOnDisk: (count, median, most) => `The last ${count} changes were on disk after ${median} (typical), ${most} at most.`,
  noEvents: "No tool has done anything yet.",
  heads: ["When", "Who", "What", "Where"],
  work: { scan: "Scanning the whole tree", import: "Processing files and rows", derive: "Preparing pages for the editor", command: "Carrying out approved requests" },
  ways: { file_to_row: "From file to row", row_to_file: "From row to file" },
  treeOfFiles: "A tree of files",
  quiet: (way) => `${way}: nothing in the last minutes.`,
  latency: (way, median, most, changes) => `${way}: ${median} (typical), ${most} or less for 99 of 100 (${changes} in the last minutes).`,
  lastOnes: (way, list) => `${way}, the last ones told: ${list}`,
  progress: (done, total) => (total === null ? done : `${done} of ${total}`),
  emptyQueue: "The queue is empty.",
  queue: (places, since) => `In the queue: ${places} to check${since ? `, the oldest since ${since}` : ""}.`,
  stopped: "stopped",
  pause: "Pause",
  resume: "Resume",
  rescan: "Rescan",
  scanned: "All files were looked at, and every change is on both sides.",
  scanGoesOn: "All files are being looked at; what is found is shown here.",
  paused: "This tenant is paused. Files and pages stay as they are until you resume.",
  resumed: "This tenant goes on.",
  tree: "Files on this machine",
  ignore: "Files that stay out",
  ignoreHint: "One pattern a line, as in .gitignore. Files that are pages or attachments already stay so. The tree is scanned again after a change.",
  ignoreSaved: "Saved. The tree is scanned again.",
  ignoreChanged: "The patterns were changed meanwhile; they are shown below. Yours are kept in the field.",
  save: "Save",
  toDecide: (changes) => `${changes} to be decided`,
  behind: (changes) => `${changes} behind`,
  wasInSync: "in sync when it ended",
  starting: "starting",
  atWork: "at work",
  inSync: "in sync",
  inSyncBut: (files) => `in sync but for ${files} with problems`,
  active: "Active",
  inactive: (when) => `Inactive since ${when}`,
};

export const TENANTS = {
  things: {
    approvals: (count) => (count === 1 ? "1 request" : `${count} requests`),
    halts: (count) => (count === 1 ? "1 loss to confirm" : `${count} losses to confirm`),
    conflicts: (count) => (count === 1 ? "1 conflict" : `${count} conflicts`),
    problems: (count) => (count === 1 ? "1 problem" : `${count} problems`),
  },
  waits: (names) => `Decisions wait in ${names}.`,
  andMore: (names, count) => `${names} and ${count} more`,
  nothing: "Nothing waits for you.",
  states: { in_sync: "in sync", at_work: "at work", stopped: "stopped", inactive: "its files are not kept up to date" },
};

export const DIFFERENCE = { added: "added: ", removed: "removed: ", same: "The texts are the same." };

export const OFFLINE = "You are reading a copy that this browser kept; the server does not answer.";

export const SEARCH = {
  none: (query) => `No page fits “${query}”. Try fewer words, or another spelling.`,
  noneYet: (query) => `No page fits “${query}” so far.`,
  atLeast: (count) => `${count} pages or more`,
  unindexed: (pages, isOne) => `${pages} ${isOne ? "is" : "are"} still being read, and may fit too.`,
  inText: (words) => `Search all text for “${words}”`,
  tagsOnly: "A tag stands beside the title of a page.",
  more: "More results",
  help: "How to search",
  examples: [
    ["sourdough flour", "both words, in any order; the beginning of a word is enough"],
    ['"red lentils"', "a phrase"],
    ["-onions", "not this word"],
    ["#garden", "a tag, and the tags below it"],
    ["path:Kitchen/Recipes", "a folder, and all below it"],
    ["title:soup", "in the title"],
    ["after:2026-01 before:2026-03-15", "when it was changed"],
  ],
};

export const SWITCHER = {
  label: "Go to a page",
  placeholder: "Go to a page…",
  hint: "↑ ↓ to choose, Enter to open, Ctrl+Enter for a new tab",
  create: (title) => `New page “${title}”`,
  count: (pages) => (pages === 1 ? "1 page" : `${pages} pages`),
};

export const SHARING = {
  title: (title) => `Share “${title}”`,
  about: "People with the address read the page as it is now and later, without signing in. They see nothing else.",
  inside: "With all pages inside",
  validFor: "Valid for",
  days: (count) => (count === 1 ? "1 day" : count === 365 ? "1 year" : `${count} days`),
  publish: "Publish under a name, until it is ended",
  name: "Public name, such as handbook",
  indexed: "Search engines may list it",
  make: "Share",
  address: "Address",
  copy: "Copy",
  copied: "Copied.",
  onlyNow: "The address is shown only now.",
  shared: "Shared now",
  none: "This page is not shared.",
  linkUntil: (moment) => `Link until ${moment}`,
  by: (name, inside) => `by ${name}${inside ? ", with all pages inside" : ""}`,
  revoke: "End",
  revoked: "That address shows nothing now.",
};

export const PEOPLE = {
  unnamed: "Someone without a name",
  noInitials: "?",
  further: (count) => `+${count}`,
  more: (count) => (count === 1 ? "1 more person" : `${count} more people`),
};

export const TOKENS = {
  title: "Access of agents",
  about: "An agent that has a token of this tenant reads its pages, or changes them. A token works until it expires or you end it.",
  agent: "Name of the agent",
  may: "What it may do",
  scopes: { read: "may read", review: "changes after a review", write: "may change pages" },
  validFor: "Valid for",
  days: (count) => (count === 365 ? "1 year" : `${count} days`),
  make: "Make a token",
  of: (agent) => `Token of ${agent}`,
  copy: "Copy",
  copied: "Copied.",
  onlyNow: "The token is shown only now. Who has it has this access.",
  token: "Token",
  program: "Program that a person let in",
  none: "No agent has access by a token.",
  madeBy: (name, moment) => `made by ${name}, ${moment}`,
  until: (moment) => `until ${moment}`,
  always: "does not expire",
  revoked: (name, moment) => `ended${name ? ` by ${name}` : ""}${moment ? `, ${moment}` : ""}`,
  end: "End",
  endOf: (agent) => `End the access of ${agent}`,
  endsAtOnce: (agent) => `End this access of ${agent}? It ends at once.`,
  ended: "That access has ended.",
};

export const BACKUPS = {
  title: "Backups",
  about: (directory) => `A backup holds this tenant as it was at one moment: all pages with their versions, files, decisions and events. ${directory ? `They are in ${directory} on this machine; copy that directory to another place with any tool.` : "They are on the machine of the console; who runs it restores them."}`,
  none: "There is no backup yet.",
  last: (moment, age) => `The last backup is ${age} old (${moment}).`,
  ages: { minute: "less than an hour", hours: (count) => (count === 1 ? "an hour" : `${count} hours`), days: (count) => (count === 1 ? "a day" : `${count} days`) },
  make: "Make a backup now",
  waits: "Waits until another backup on this machine is made.",
  goesOn: (by, percent) => `A backup is being made for ${by}: ${percent} %`,
  whole: (number) => `Backup ${number} is complete.`,
  unread: (files) => `${files} could not be read, and are not in it.`,
  failed: (sentence) => `No backup was made. ${sentence}`,
  number: (number) => `Backup ${number}`,
  otherFile: "other file",
  holds: (pages, versions, attachments, files) => `${pages}, ${versions}, ${attachments}, ${files}`,
  size: (bytes) => `${bytes}, with what it shares with other backups`,
  noSize: "parts of it are gone",
  damaged: (numbers) => `The lists of these backups are damaged, so they cannot be restored: ${numbers}.`,
  restore: "How to restore it",
  beside: "As a new tenant beside this one, to look at it and to copy from it. Its files are written when the daemon starts again:",
  lost: "As this tenant, into a database that does not have it any more:",
  where: "Run the command on this machine, as the user whose files these are. Where MIRRORD_DSN is named, set it to the address of the database before.",
  copy: "Copy",
  copied: "Copied.",
};
