# Runs tests one after the other up to the first that fails, writes what they found into the job's
# comment, then holds the allocation until the node is drained and slurmctld has saved that, so that no other
# job starts on it in between, also where slurmctld dies. Needs bash 4, coreutils, grep, sed and scontrol; no root.
#
# Exit codes of its own: 124, a test reached its time limit; 125, nothing can be said. Whatever goes wrong
# here goes on to the hold: a job that ends early would open its node.

LC_ALL=C # character ranges mean ASCII
umask 077
poll_seconds=3
saved_looks=3 # the first and the last are 6 s apart: slurmctld saves what it acknowledged every 5 s
folder=''  # everything that is written here
child=''   # the running test, which leads its own process group
code=0     # of the first test that failed
exits=''   # NAME.exit=N,…
pairs=''   # NAME.key=value,…
written='' # whether the comment is
hold=0     # seconds
comment_length=0

# Ends whatever a test left behind: its process group, and what left that but still carries our mark.
end_children() {
  local turn environment found
  [ -z "$child" ] || kill -KILL -- "-$child" 2>/dev/null
  child=''
  for turn in 1 2 3; do # a process can fork while it is looked for
    found=''
    while read -r environment; do
      found=$turn
      environment=${environment#/proc/}
      kill -KILL "${environment%/environ}" 2>/dev/null
    done < <(grep -lazsxF -- "BURN_IN_FOLDER=$folder" /proc/[0-9]*/environ)
    [ -n "$found" ] || return 0
  done
}

clean_up() {
  [ -n "$folder" ] || return 0
  end_children
  rm -rf -- "$folder"
}

# begin SECONDS LENGTH: for how long the node is held at most, and how long the comment may be.
begin() {
  hold=$1 comment_length=$2
  trap clean_up EXIT
  trap 'exit 143' TERM INT
  folder=$(mktemp -d) && mkfifo "$folder/done" && exec 3<>"$folder/done" && return 0
  echo "burn-in: no temporary folder can be made"
  code=125
}

# Whether every test so far ended with 0.
goes_on() {
  [ "$code" -eq 0 ]
}

# The lines of a test that are exactly one pair, the first 64 of them; all else is read and dropped. `cut`
# first: a line may be endless.
collect() {
  cut -b 1-100 | grep -a -E -x '[a-z0-9_.]{1,40}=[0-9A-Za-z.+-]{1,40}' | head -n 64
  cat > /dev/null
}

# A test's own words, for the job's log, so far as they are not endless.
first_words() {
  head -c 65536
  exec cat > /dev/null 2>&1
}

# run_test NAME SECONDS: runs the file `test` by its interpreter, since the folder may be mounted noexec.
run_test() {
  local name=$1 limit=$2 began=$SECONDS first interpreter argument status reader line
  if ! { mkdir "$folder/work" && mkfifo "$folder/output" && mv "$folder/test" "$folder/$name.test"; }; then
    code=125
    return
  fi
  read -r first < "$folder/$name.test"
  read -r interpreter argument <<< "${first#'#!'}"
  echo "burn-in: $name, at most $limit s"
  { collect < "$folder/output" > "$folder/pairs" 3>&-; echo >&3; } &
  reader=$!
  (
    cd "$folder/work" || exit 125
    export BURN_IN_FOLDER=$folder
    exec timeout -k 10 "$limit" "$interpreter" ${argument:+"$argument"} "$folder/$name.test" < /dev/null 3>&-
  ) > "$folder/output" 2> >(first_words >&2 3>&-) &
  child=$!
  wait "$child"
  status=$?
  end_children
  # A process that hides from us may keep the output open for ever; then the pairs are lost.
  read -r -t 10 -u 3 || kill -KILL "$reader"
  # `timeout` is killed along with a test that did not end when it was told to.
  if [ "$status" -eq 137 ] && [ $((SECONDS - began)) -ge $((limit + 9)) ]; then status=124; fi
  echo "burn-in: $name ended with $status after $((SECONDS - began)) s"
  exits+="${exits:+,}$name.exit=$status"
  while read -r line; do
    [ "${line%%=*}" = exit ] || pairs+=",$name.$line"
  done < "$folder/pairs"
  code=$status
  rm -rf -- "$folder/work" "$folder/output" "$folder/pairs" "${folder:?}/$name.test"
}

# The exit codes of all tests, and as many whole pairs as fit.
write_comment() {
  local comment=$exits pair list
  [ -z "$written" ] || return 0
  IFS=, read -r -a list <<< "${pairs#,}"
  for pair in "${list[@]}"; do
    [ $((${#comment} + 1 + ${#pair})) -le "$comment_length" ] || break
    comment+=",$pair"
  done
  timeout 30 scontrol update "jobid=$SLURM_JOB_ID" "comment=$comment" > /dev/null 2>&1 || return 0
  written=yes
  echo "burn-in: $comment"
}

# Whether the node says DRAIN, without UNDRAIN; what cannot be asked is not drained.
is_drained() {
  local state
  [ -n "$SLURMD_NODENAME" ] || return 1
  state=$(timeout 30 scontrol show node "$SLURMD_NODENAME" 2>/dev/null | sed -n 's/^ *State=\([^ ]*\).*/\1/p')
  state="+${state//[!A-Z_+]/}+"
  case $state in
    *+UNDRAIN+*) return 1 ;;
    *+DRAIN+*) return 0 ;;
  esac
  return 1
}

# Holds the allocation until the node is drained, and so for long enough to be saved, at most $hold seconds:
# all of them where scontrol does not answer. While it does not, the comment is still owed.
finish() {
  local began=$SECONDS told=$SECONDS drained=0
  write_comment
  while [ $((SECONDS - began)) -lt "$hold" ]; do
    if is_drained; then drained=$((drained + 1)); else drained=0; fi
    write_comment
    [ "$drained" -lt "$saved_looks" ] || break
    if [ $((SECONDS - told)) -ge 60 ]; then
      told=$SECONDS
      echo "burn-in: holds the node for $((SECONDS - began)) s, until it is drained"
    fi
    sleep "$poll_seconds"
  done
  exit "$code"
}
