awk 'BEGIN { for (i = 1; i <= 100; i++) { old = old "[\"r\"," i ",0],"; new = new "[\"r\"," i ",1],"; w = w ",[\"w\"," i ",1]" }
  print "{\"ratel\":1,\"init\":0}"
  print "{\"session\":1,\"id\":\"unknown\",\"status\":\"unknown\",\"ops\":[" old "[\"w\",\"u\",1]]}"
  print "{\"session\":2,\"id\":\"writer\",\"ops\":[[\"r\",\"u\",1]" w "]}"
  print "{\"session\":3,\"id\":\"reader\",\"ops\":[" new "[\"r\",\"u\",1]]}" }' | "$RATEL" check -q --level ser,si,sser -
